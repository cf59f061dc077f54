#ifndef CAIRN_PS_SERVER_SNAPSHOTS_CHECKPOINT_LOADER_H_
#define CAIRN_PS_SERVER_SNAPSHOTS_CHECKPOINT_LOADER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/coordinator.pb.h"
#include "ps_server/blocks/block_buffer.h"
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/update_rule.h"
#include "ps_server/snapshots/snapshot_catalog.h"
#include "ps_server/snapshots/snapshot_fetcher.h"

namespace cairn::ps {

// Reads a checkpoint from wherever its parts are: this ps's own disk, a directory beside it, or
// another ps. Blocks that lay elsewhere when the checkpoint was written move here whole.
class CheckpointLoader {
 public:
  // All must outlive it. `ps`: this one.
  CheckpointLoader(uint32_t ps, const SnapshotCatalog* catalog, SnapshotFetcher* fetcher,
                   BufferPool* pool)
      : ps_(ps), catalog_(*catalog), fetcher_(*fetcher), pool_(*pool) {}

  // The states of all of layout.blocks() as the command's checkpoint (not 0) has them. A part that
  // cannot be read in one place is read in the next. Blocks. The error is the one that may pass, if
  // there was one (see IsTransient), else what was wrong with the nearest.
  absl::StatusOr<std::vector<BlockState>> Load(const JobLayout& layout,
                                               const proto::Restore& command) const;

  // Trying again later may help: somebody did not answer, memory was short, a file has gone.
  static bool IsTransient(const absl::Status& status);

 private:
  struct Target;

  absl::Status LoadPart(const proto::SnapshotSource& source, const Target& target) const;
  absl::Status LoadHere(const proto::SnapshotPart& part, const Target& target) const;
  absl::Status LoadFrom(uint32_t holder, const proto::SnapshotPart& part,
                        const Target& target) const;

  const uint32_t ps_;
  const SnapshotCatalog& catalog_;
  SnapshotFetcher& fetcher_;
  BufferPool& pool_;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_SNAPSHOTS_CHECKPOINT_LOADER_H_
