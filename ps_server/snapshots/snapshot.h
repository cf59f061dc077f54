#ifndef CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_H_
#define CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_H_

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"
#include "ps_server/blocks/block_buffer.h"
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/update_rule.h"
#include "ps_server/parameter_store.h"
#include "ps_server/snapshots/stored_block.h"
#include "storage/snapshot_store.h"

namespace cairn::ps {

// This ps's part of a checkpoint: a cut on disk, under the cut's number. All of these block.

// Writes all blocks of the cut, syncs and reads back. On an error nothing stays on the disk.
// Cancelled: `stop` became true before the last block was written.
absl::StatusOr<storage::SnapshotSummary> WriteSnapshot(const Cut& cut,
                                                       const std::atomic<bool>& stop,
                                                       storage::SnapshotStore* store);

// The state of `block` as its record in a snapshot has it. DataLoss: the record contradicts itself.
// FailedPrecondition: it is of something else than the layout says. ResourceExhausted: no memory.
// All name the block.
absl::StatusOr<BlockState> ReadState(const JobLayout& layout, const BlockSpec& block,
                                     storage::BlockRecord record, BufferPool* pool);

// FailedPrecondition unless `stored` is what belongs to `block`: the same rows of the same
// variable.
absl::Status CheckStoredBlock(const JobLayout& layout, const BlockSpec& block,
                              const StoredBlock& stored);

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_H_
