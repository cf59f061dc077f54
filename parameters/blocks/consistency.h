#ifndef CAIRN_PARAMETERS_BLOCKS_CONSISTENCY_H_
#define CAIRN_PARAMETERS_BLOCKS_CONSISTENCY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "job/batch_numbers.h"
#include "parameters/blocks/push_ledger.h"

namespace cairn::proto {
class JobPlan;
}

namespace cairn::parameters {

// The consistency model of a job, as pure functions of batch numbers: which batches form an update,
// and on which values a batch may be computed. Two numbers of the plan (see JobPlan) determine it:
//   window -1                asynchronous
//   window >= 0              stale synchronous (bounded staleness)
//   batches_per_update G     synchronous
//
// Copyable. Thread-safe.
class Consistency {
 public:
  // The answer of a block to a pull.
  enum class Answer {
    kCurrent,   // The current values are valid for the batch.
    kPrevious,  // The values before the last update are valid for it.
    kApplied,   // The batch's update has been applied and its version is gone (synchronous only).
    kLater,     // No valid values exist yet.
  };

  // InvalidArgument: a number of the plan is out of range; the message names it.
  static absl::StatusOr<Consistency> Create(const proto::JobPlan& plan);

  bool synchronous() const { return synchronous_; }
  int64_t total_batches() const { return total_batches_; }

  // The update of `batch`, 0 <= batch < total_batches, and the batches of an update. Synchronous
  // only.
  int64_t UpdateOf(int64_t batch) const { return numbers_.UpdateOf(batch); }
  job::BatchNumbers::Range BatchesOf(int64_t update) const { return numbers_.BatchesOf(update); }

  // Whether a block with this ledger has values on which `batch` may be computed. `has_previous`:
  // the block still has the values before its last update.
  Answer MayPull(int64_t batch, const PushLedger& ledger, bool has_previous) const;

 private:
  Answer MayPullSynchronous(int64_t batch, const PushLedger& ledger, bool has_previous) const;

  bool synchronous_ = false;
  int64_t window_ = -1;
  int64_t total_batches_ = 0;
  job::BatchNumbers numbers_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_CONSISTENCY_H_
