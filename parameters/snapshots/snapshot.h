#ifndef CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/update_rule.h"
#include "parameters/parameter_store.h"
#include "parameters/snapshots/stored_block.h"
#include "storage/snapshot_store.h"

namespace cairn::parameters {

// Conversion between cuts and snapshots, a ps's parts of checkpoints. The functions block.

// Writes all blocks of the cut as a snapshot with the cut's number (see SnapshotWriter::Finish). On
// an error no file is left. Cancelled: `stop` was set before the last block was written.
absl::StatusOr<storage::SnapshotSummary> WriteSnapshot(const Cut& cut,
                                                       const std::atomic<bool>& stop,
                                                       storage::SnapshotStore* store);

// Returns the header of a block's record (proto::BlockHeader).
std::string EncodeBlockHeader(const JobLayout& layout, const BlockSpec& block,
                              const BlockState& state);

// Decodes a block's record. All errors name the block. DataLoss: the record is inconsistent.
// FailedPrecondition: it does not match the layout. ResourceExhausted: no memory.
absl::StatusOr<BlockState> ReadState(const JobLayout& layout, const BlockSpec& block,
                                     storage::BlockRecord record, BufferPool* pool);

// Copies an uploaded block to the initial state of `block`, which has its memory: the values and,
// if the optimizer does not start anew, its slots and the version. FailedPrecondition: it does not
// match the layout.
absl::Status CopyUploaded(const JobLayout& layout, const BlockSpec& block,
                          const StoredBlock& stored, BlockState* state);

// FailedPrecondition: `stored` does not consist of the same rows of the same variable as `block`.
absl::Status CheckStoredBlock(const JobLayout& layout, const BlockSpec& block,
                              const StoredBlock& stored);

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_H_
