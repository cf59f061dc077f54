#include "coordinator/callbacks/nonfinite_loss.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/nonfinite_text.h"
#include "coordinator/note.h"
#include "job/job_plan.h"

namespace cairn::coordinator {
namespace {

// A rate that must still be halved after so many attempts is not what is wrong.
constexpr int64_t kRollbacksInVain = 10;
constexpr int64_t kRollbacksToBadValues = 2;
constexpr char kSmallerRate[] =
    "try a smaller learning_rate or clipnorm in a new job and check the data";
constexpr char kRejectData[] =
    "fix the data, or set \"on_non_finite\": \"reject\" in a new job to leave such batches out";

constexpr char kBadData[] = ": its data are not finite";

proto::NonFiniteLoss LossOf(const proto::JobPlan& plan, const proto::BatchRecord& record) {
  const int64_t per_epoch = std::max<int64_t>(1, plan.batches_per_epoch());
  proto::NonFiniteLoss loss;
  loss.set_epoch(plan.job().initial_epoch() + record.batch() / per_epoch);
  loss.set_batch(record.batch() % per_epoch);
  loss.set_loss(record.loss());
  loss.set_data_not_finite(record.data_not_finite());
  return loss;
}

// Numbered from 1, as everywhere where people read.
std::string PlaceOfBatch(const proto::NonFiniteLoss& loss) {
  return absl::StrCat("at batch ", loss.batch() + 1, " (epoch ", loss.epoch() + 1, ")");
}

std::string PlaceOfEvaluation(const proto::NonFiniteLoss& loss) {
  return absl::StrCat("after epoch ", loss.epoch() + 1);
}

std::string NumberText(double value) {
  return std::isfinite(value) ? absl::StrCat(value) : NonfiniteText(value);
}

// "the loss became nan at batch 3 (epoch 1): its data are not finite". If the loss is finite, a
// gradient is not.
std::string NoteOf(const std::string& what, const proto::NonFiniteLoss& loss,
                   const std::string& place) {
  const std::string became = std::isfinite(loss.loss())
                                 ? "a gradient became nan or infinite "
                                 : absl::StrCat(what, " became ", NonfiniteText(loss.loss()), " ");
  return absl::StrCat(became, place, loss.data_not_finite() ? kBadData : "");
}

}  // namespace

bool KeepNonfiniteLoss(const proto::JobPlan& plan, const proto::BatchRecord& record, EventTime now,
                       proto::RunRecord* run) {
  const bool is_finite = std::isfinite(record.loss()) && !record.rejected();
  if (is_finite || run->has_nonfinite_loss()) return false;
  const proto::NonFiniteLoss loss = LossOf(plan, record);
  *run->mutable_nonfinite_loss() = loss;
  AddNote(plan.job_id(),
          NoteOf("the loss", loss, PlaceOfBatch(loss)) +
              (record.rejected() ? "; such batches are rejected: they change nothing" : ""),
          now, run);
  return true;
}

bool KeepNonfiniteLoss(const proto::JobPlan& plan, const proto::EvaluationRecord& record,
                       EventTime now, proto::RunRecord* run) {
  if (std::isfinite(record.loss()) || run->has_nonfinite_validation()) return false;
  proto::NonFiniteLoss& loss = *run->mutable_nonfinite_validation();
  loss.set_epoch(plan.job().initial_epoch() + record.epoch());
  loss.set_loss(record.loss());
  loss.set_data_not_finite(record.data_not_finite());
  // Values that are not finite give no other loss: that was said of the batch.
  if (run->has_nonfinite_loss()) return true;
  AddNote(plan.job_id(), NoteOf("the validation loss", loss, PlaceOfEvaluation(loss)), now, run);
  return true;
}

std::string NonfiniteBatchText(const proto::JobPlan& plan, const proto::BatchRecord& record,
                               const std::string& worker) {
  const proto::NonFiniteLoss loss = LossOf(plan, record);
  const bool is_loss = !std::isfinite(loss.loss());
  return absl::StrCat(is_loss ? "the loss" : "a gradient", " of batch ", loss.batch() + 1,
                      " in epoch ", loss.epoch() + 1, " is ",
                      is_loss ? NonfiniteText(loss.loss()) : "nan or infinite", " (", worker, ")",
                      loss.data_not_finite() ? kBadData : "");
}

NonfiniteRollback DecideNonfiniteRollback(const proto::JobPlan& plan,
                                          const proto::BatchRecord& record, bool any_done,
                                          const std::string& newest, proto::RunRecord* run) {
  if (job::NonFinitePolicyOf(plan.job()) == job::NonFinitePolicy::kFail) {
    return {absl::StrCat("; ", record.data_not_finite() ? kRejectData : kSmallerRate,
                         " (\"on_non_finite\" is \"fail\"; cairn resume ", plan.job_id(),
                         " goes on from ", newest, ")")};
  }
  // The same data would come again.
  if (record.data_not_finite()) {
    return {absl::StrCat("; a rollback does not help: ", kRejectData)};
  }
  if (record.batch() >= run->nonfinite_farthest()) {
    run->set_nonfinite_farthest(record.batch() + 1);
    run->set_nonfinite_in_vain(0);
  }
  if (run->nonfinite_in_vain() >= kRollbacksInVain) {
    return {absl::StrCat("; ", kRollbacksInVain,
                         " rollbacks, each with half the learning rate, brought the job no "
                         "farther: ",
                         kSmallerRate)};
  }
  run->set_nonfinite_in_vain(run->nonfinite_in_vain() + 1);
  // The values may have been spoiled before the checkpoint was taken. No rate helps then, but an
  // older checkpoint does. Not at once: one batch may have spoiled them since, unreported.
  NonfiniteRollback rollback;
  rollback.base_is_spoiled = run->nonfinite_in_vain() > kRollbacksToBadValues &&
                             run->base_checkpoint() != 0 && !run->from_replicas() && !any_done;
  return rollback;
}

std::string WhyToTerminate(const proto::JobPlan& plan, const proto::BatchRecord& record) {
  if (std::isfinite(record.loss())) return "";
  const proto::NonFiniteLoss loss = LossOf(plan, record);
  return absl::StrCat("terminate_on_nan: the loss of batch ", loss.batch() + 1, " in epoch ",
                      loss.epoch() + 1, " is ", NonfiniteText(loss.loss()),
                      loss.data_not_finite() ? kBadData : "");
}

void WarnOfNonfiniteEnd(const proto::JobPlan& plan, const proto::RunRecord& run,
                        const proto::EvaluationRecord* last) {
  if (std::isfinite(run.loss()) && (last == nullptr || std::isfinite(last->loss()))) return;
  const std::string first = run.has_nonfinite_loss()
                                ? PlaceOfBatch(run.nonfinite_loss())
                                : PlaceOfEvaluation(run.nonfinite_validation());
  CAIRN_LOG_WARNING("the job's last loss is not finite", "job", plan.job_id(), "training",
                    NumberText(run.loss()), "validation",
                    last == nullptr ? "none" : NumberText(last->loss()), "first", first);
}

}  // namespace cairn::coordinator
