#ifndef CAIRN_PARAMETERS_INITIAL_VALUES_H_
#define CAIRN_PARAMETERS_INITIAL_VALUES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/update_rule.h"
#include "parameters/snapshots/upload_store.h"

namespace cairn::parameters {

// Returns a job's checkpoint 0: the states of layout.blocks() before the first batch. The values
// are the uploaded ones if plan.weights_uploaded, otherwise those of the variables' initializers.
// Uploaded blocks may have the state of the optimizer, too.
// Blocks. All errors name the block. NotFound, DataLoss, FailedPrecondition: an uploaded block is
// missing, damaged, or does not match. ResourceExhausted: no memory.
absl::StatusOr<std::vector<BlockState>> MakeInitialStates(const JobLayout& layout,
                                                          UploadStore* uploads, BufferPool* pool);

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_INITIAL_VALUES_H_
