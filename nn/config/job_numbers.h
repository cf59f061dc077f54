#ifndef CAIRN_NN_CONFIG_JOB_NUMBERS_H_
#define CAIRN_NN_CONFIG_JOB_NUMBERS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace cairn::nn {

// So many batches a job has at most, validation not counted: at a microsecond each they take 12
// days.
inline constexpr int64_t kTotalBatchesMax = int64_t{1} << 40;
// So many examples a batch has at most: what nn::Executor takes.
inline constexpr int64_t kBatchSizeMax = int64_t{1} << 20;

// What a job says of its batches (batch_size, epochs, steps), its strategy, its checkpoints and its
// partitioner: whether all that must be there is, and nothing else, in the ranges of
// doc/job_file.md. InvalidArgument begins with the field's path in the job file, and names the
// value and what it may be.
absl::Status CheckJobNumbers(const proto::Job& job);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CONFIG_JOB_NUMBERS_H_
