#ifndef CAIRN_PS_SERVER_SNAPSHOT_H_
#define CAIRN_PS_SERVER_SNAPSHOT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ps_server/blocks/block_buffer.h"
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/update_rule.h"
#include "ps_server/parameter_store.h"
#include "ps_server/stored_block.h"
#include "storage/checkpoint_store.h"

namespace cairn::ps {

// This ps's part of a checkpoint: a cut on disk, under the cut's number. All of these block.

// Writes all blocks of the cut, syncs and reads back. On an error nothing stays on the disk.
absl::StatusOr<storage::SnapshotSummary> WriteSnapshot(const Cut& cut,
                                                       storage::CheckpointStore* store);

// Reads the states of all of layout.blocks(). NotFound: there is no such snapshot. DataLoss: it is
// damaged. FailedPrecondition: it holds something else than the layout says. All name the block.
absl::StatusOr<std::vector<BlockState>> ReadSnapshot(const JobLayout& layout, uint64_t checkpoint,
                                                     const storage::CheckpointStore& store,
                                                     BufferPool* pool);

// FailedPrecondition unless `stored` is what belongs to `block`: the same rows of the same
// variable.
absl::Status CheckStoredBlock(const JobLayout& layout, const BlockSpec& block,
                              const StoredBlock& stored);

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_SNAPSHOT_H_
