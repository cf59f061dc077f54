#ifndef CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_CATALOG_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_CATALOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "storage/snapshot_store.h"

namespace cairn::parameters {

// The snapshots that this ps can read: its own, the copies that it keeps for other ps, and the
// snapshots in the directories of other ps beside its own (on the same machine or on a shared file
// system). Thread-safe. Methods block.
class SnapshotCatalog {
 public:
  // `own` must outlive the catalog. `parent_directory` is the directory that contains ps-0, ps-1,
  // ...; if it is empty, only `own` is read.
  SnapshotCatalog(uint32_t ps, const storage::SnapshotStore* own, std::string parent_directory)
      : ps_(ps), own_(*own), parent_directory_(std::move(parent_directory)) {}

  // Returns all finished snapshots of the job, each once, those in `own` first. Unreadable
  // snapshots are omitted, with a warning.
  proto::SnapshotList List(uint64_t job_id) const;

  // Opens a snapshot of part.ps; `own` is searched first. If part.checksum is not 0, the snapshot
  // must have it. NotFound: there is none. DataLoss: only damaged ones were found.
  absl::StatusOr<std::unique_ptr<storage::SnapshotReader>> Open(
      uint64_t job_id, uint64_t checkpoint, const proto::SnapshotPart& part) const;

 private:
  // Called for a store and the index of its ps; returns false to stop.
  using Visit = absl::FunctionRef<bool(const storage::SnapshotStore&, uint32_t ps)>;
  void ForEachStore(Visit visit) const;

  const uint32_t ps_;
  const storage::SnapshotStore& own_;
  const std::string parent_directory_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_CATALOG_H_
