#ifndef CAIRN_JOB_BATCH_NUMBERS_H_
#define CAIRN_JOB_BATCH_NUMBERS_H_

#include <algorithm>
#include <cstdint>

#include "proto/job.pb.h"

namespace cairn::job {

// The numbering of a job's batches, epochs and updates; all start at 0 and count through the whole
// job. With B batches per epoch and G batches per update (1 unless synchronous), an epoch has
// ceil(B / G) updates. Updates do not cross epochs: the last one of an epoch, and that of the job,
// may have fewer than G batches.
//
// Copyable. Thread-safe.
class BatchNumbers {
 public:
  struct Range {
    int64_t first = 0;
    int64_t count = 0;
    int64_t end() const { return first + count; }
  };

  BatchNumbers() = default;
  // Numbers of the plan below 1 count as 1. The caller has validated the plan.
  explicit BatchNumbers(const proto::JobPlan& plan)
      : batches_per_epoch_(std::max<int64_t>(1, plan.batches_per_epoch())),
        batches_per_update_(std::max<int64_t>(1, plan.batches_per_update())),
        updates_per_epoch_((batches_per_epoch_ - 1) / batches_per_update_ + 1),
        total_batches_(plan.total_batches()) {}

  int64_t EpochOf(int64_t batch) const { return batch / batches_per_epoch_; }
  int64_t EpochBegin(int64_t epoch) const { return epoch * batches_per_epoch_; }
  int64_t UpdateOf(int64_t batch) const {
    return EpochOf(batch) * updates_per_epoch_ + batch % batches_per_epoch_ / batches_per_update_;
  }
  // The batches of an update that begins before the end of the job.
  Range BatchesOf(int64_t update) const {
    const int64_t epoch_begin = EpochBegin(update / updates_per_epoch_);
    const int64_t epoch_end = std::min(epoch_begin + batches_per_epoch_, total_batches_);
    const int64_t first = epoch_begin + update % updates_per_epoch_ * batches_per_update_;
    return {first, std::min(batches_per_update_, epoch_end - first)};
  }

 private:
  int64_t batches_per_epoch_ = 1;
  int64_t batches_per_update_ = 1;
  int64_t updates_per_epoch_ = 1;
  int64_t total_batches_ = 0;
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_BATCH_NUMBERS_H_
