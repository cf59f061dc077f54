#ifndef CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_COPIER_H_
#define CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_COPIER_H_

#include <vector>

#include "absl/status/status.h"
#include "ps_server/snapshots/snapshot_fetcher.h"
#include "storage/snapshot_store.h"

namespace cairn::ps {

// Keeps a second copy of another ps's snapshot. Thread-safe.
class SnapshotCopier {
 public:
  // Both must outlive it.
  SnapshotCopier(storage::SnapshotStore* store, SnapshotFetcher* fetcher)
      : store_(*store), fetcher_(*fetcher) {}

  // Fetches `blocks`, which are all of that snapshot's in ascending order, writes them, syncs,
  // reads back and compares with source.part. One that is there already is good. On an error
  // nothing stays. Blocks for as long as that takes. Errors: as SnapshotFetcher::Fetch and
  // SnapshotWriter; DataLoss: what came is not that snapshot.
  absl::Status Copy(const SnapshotFetcher::Source& source, const std::vector<uint32_t>& blocks);

 private:
  storage::SnapshotStore& store_;
  SnapshotFetcher& fetcher_;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_COPIER_H_
