#ifndef CAIRN_PS_SERVER_INITIAL_VALUES_H_
#define CAIRN_PS_SERVER_INITIAL_VALUES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ps_server/blocks/block_buffer.h"
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/update_rule.h"
#include "ps_server/snapshots/upload_store.h"

namespace cairn::ps {

// A job's checkpoint 0: the states of all of layout.blocks() before the first batch, with the
// values that were uploaded if the plan says so, else those of the variables' initializers.
// NotFound, DataLoss, FailedPrecondition: an uploaded block is missing, damaged, or another one;
// ResourceExhausted: no memory. All name the block. Blocks.
absl::StatusOr<std::vector<BlockState>> MakeInitialStates(const JobLayout& layout,
                                                          UploadStore* uploads, BufferPool* pool);

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_INITIAL_VALUES_H_
