#ifndef CAIRN_JOB_JOB_NUMBERS_H_
#define CAIRN_JOB_JOB_NUMBERS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace cairn::job {

// The maximum number of training batches of a job: 12 days at one microsecond per batch.
inline constexpr int64_t kTotalBatchesMax = int64_t{1} << 40;
// The maximum number of epochs of which each can have its own learning rate. All rates are in the
// job's records.
inline constexpr int64_t kScheduledEpochsMax = 50'000;
// The maximum batch size; nn::Executor has the same limit.
inline constexpr int64_t kBatchSizeMax = int64_t{1} << 20;

// Validates a job's batches (batch_size, epochs, steps and so on), validation, strategy,
// checkpoints and partitioner: required fields are present, exclusive ones are not combined, and
// numbers are in the ranges of doc/job_file.md. INVALID_ARGUMENT starts with the field's path in
// the job file and names the value and the valid range.
absl::Status ValidateJobLimits(const proto::Job& job);

}  // namespace cairn::job

#endif  // CAIRN_JOB_JOB_NUMBERS_H_
