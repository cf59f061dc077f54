#ifndef CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_CATALOG_H_
#define CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_CATALOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "storage/snapshot_store.h"

namespace cairn::ps {

// The snapshots that this ps can read: its own, those that it keeps for others, and, where other ps
// have their directories beside its own (one machine, a shared file system), all of theirs.
// Thread-safe. Blocks.
class SnapshotCatalog {
 public:
  // `own` must outlive it. `beside` is the directory in which ps-0, ps-1 ... lie; empty: none is
  // looked at but its own.
  SnapshotCatalog(uint32_t ps, const storage::SnapshotStore* own, std::string beside)
      : ps_(ps), own_(*own), beside_(std::move(beside)) {}

  // All finished snapshots of the job, those on its own disk first, each once. What cannot be read
  // is left out and logged.
  proto::SnapshotList List(uint64_t job_id) const;

  // A snapshot of ps part.ps, its own disk first; if part.checksum is not 0, only one that has it.
  // NotFound: there is none. DataLoss: there is one, and it is damaged.
  absl::StatusOr<std::unique_ptr<storage::SnapshotReader>> Open(
      uint64_t job_id, uint64_t checkpoint, const proto::SnapshotPart& part) const;

 private:
  // A store and the index of the ps whose it is; false: enough seen.
  using Visit = absl::FunctionRef<bool(const storage::SnapshotStore&, uint32_t ps)>;
  void ForEachStore(Visit visit) const;

  const uint32_t ps_;
  const storage::SnapshotStore& own_;
  const std::string beside_;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_CATALOG_H_
