#include "parameters/blocks/consistency.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "job/strategy.h"
#include "proto/job.pb.h"

namespace cairn::parameters {

namespace {

absl::Status OutOfRange(const char* name, int64_t value, const char* allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat("the plan's ", name, " is ", value, ", but must be ", allowed));
}

}  // namespace

absl::StatusOr<Consistency> Consistency::Create(const proto::JobPlan& plan) {
  if (plan.batches_per_epoch() < 1) {
    return OutOfRange("batches_per_epoch", plan.batches_per_epoch(), "at least 1");
  }
  // Leaves room for sums of a batch number and the size of the ledger's window.
  if (plan.total_batches() < 1 || plan.total_batches() > std::numeric_limits<int64_t>::max() / 4) {
    return OutOfRange("total_batches", plan.total_batches(), "in [1, 2^61)");
  }
  const int64_t batches_max = plan.synchronous() ? job::kBatchesPerUpdateMax : 1;
  if (plan.batches_per_update() < 1 || plan.batches_per_update() > batches_max) {
    return OutOfRange("batches_per_update", plan.batches_per_update(),
                      plan.synchronous() ? "in [1, 4096]" : "1 unless synchronous");
  }
  if (plan.window() < -1) return OutOfRange("window", plan.window(), "-1 (none) or more");
  Consistency rules;
  rules.synchronous_ = plan.synchronous();
  rules.window_ = plan.window();
  rules.total_batches_ = plan.total_batches();
  rules.numbers_ = job::BatchNumbers(plan);
  return rules;
}

Consistency::Answer Consistency::MayPull(int64_t batch, const PushLedger& ledger,
                                         bool has_previous) const {
  if (synchronous_) return MayPullSynchronous(batch, ledger, has_previous);
  if (window_ < 0 || batch <= window_) return Answer::kCurrent;
  return ledger.AllBelowApplied(batch - window_) ? Answer::kCurrent : Answer::kLater;
}

// Updates are applied completely and in order, so the ledger's low-water mark is the block's
// progress.
Consistency::Answer Consistency::MayPullSynchronous(int64_t batch, const PushLedger& ledger,
                                                    bool has_previous) const {
  const int64_t update = UpdateOf(batch);
  if (!ledger.IsApplied(batch)) {
    const bool all_before = ledger.AllBelowApplied(BatchesOf(update).first);
    return all_before ? Answer::kCurrent : Answer::kLater;
  }
  const bool is_last = update == UpdateOf(ledger.low_water() - 1);
  return is_last && has_previous ? Answer::kPrevious : Answer::kApplied;
}

}  // namespace cairn::parameters
