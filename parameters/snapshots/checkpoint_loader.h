#ifndef CAIRN_PARAMETERS_SNAPSHOTS_CHECKPOINT_LOADER_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_CHECKPOINT_LOADER_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/update_rule.h"
#include "parameters/snapshots/snapshot_catalog.h"
#include "parameters/snapshots/snapshot_fetcher.h"
#include "proto/coordinator.pb.h"

namespace cairn::parameters {

// Loads a checkpoint from wherever its parts are: this ps's own disk, a directory beside it, or
// another ps. A block may have been on another ps when the checkpoint was written; blocks are moved
// as a whole. Thread-safe.
class CheckpointLoader {
 public:
  // `ps` is the index of this ps. The other arguments must outlive the loader.
  CheckpointLoader(uint32_t ps, const SnapshotCatalog* catalog, SnapshotFetcher* fetcher,
                   BufferPool* pool)
      : ps_(ps), catalog_(*catalog), fetcher_(*fetcher), pool_(*pool) {}

  // Returns the states of layout.blocks() in the command's checkpoint, which must not be 0. If a
  // part cannot be read in one place, the next place is tried; this ps is one of the places if the
  // command says so, or says none. Blocks. Returns a transient error if there is one (see
  // IsTransient), otherwise that of the nearest place. Cancelled: `stop` was set meanwhile.
  absl::StatusOr<std::vector<BlockState>> Load(const JobLayout& layout,
                                               const proto::Restore& command,
                                               const std::atomic<bool>& stop) const;

  // Whether a later attempt may succeed: a ps did not answer, memory was short, or a file was not
  // found.
  static bool IsTransient(const absl::Status& status);

 private:
  struct Target;

  absl::Status LoadPart(const proto::SnapshotSource& source, const Target& target) const;
  absl::Status LoadLocally(const proto::SnapshotPart& part, const Target& target) const;
  absl::Status LoadFromPs(uint32_t holder, const proto::SnapshotPart& part,
                          const Target& target) const;

  const uint32_t ps_;
  const SnapshotCatalog& catalog_;
  SnapshotFetcher& fetcher_;
  BufferPool& pool_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_CHECKPOINT_LOADER_H_
