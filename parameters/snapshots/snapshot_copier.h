#ifndef CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_COPIER_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_COPIER_H_

#include <vector>

#include "absl/status/status.h"
#include "parameters/snapshots/snapshot_fetcher.h"
#include "storage/snapshot_store.h"

namespace cairn::parameters {

// Copies snapshots of other ps to this ps's disk. Thread-safe.
class SnapshotCopier {
 public:
  // `store` and `fetcher` must outlive the copier.
  SnapshotCopier(storage::SnapshotStore* store, SnapshotFetcher* fetcher)
      : store_(*store), fetcher_(*fetcher) {}

  // Fetches a snapshot, writes it (see SnapshotWriter::Finish) and compares it with source.part.
  // `blocks` are all of its blocks, in ascending order. Succeeds at once if the copy already
  // exists. On an error no file is left. Blocks. Errors: see SnapshotFetcher::Fetch and
  // SnapshotWriter. DataLoss: the copy differs from source.part.
  absl::Status Copy(const SnapshotFetcher::Source& source, const std::vector<uint32_t>& blocks);

 private:
  storage::SnapshotStore& store_;
  SnapshotFetcher& fetcher_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_COPIER_H_
