#include "coordinator/training/evaluation_round.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace cairn::coordinator {
namespace {

int64_t BatchCount(const proto::JobPlan& plan) {
  const int64_t batch_size = std::max<int64_t>(1, plan.batch_size());
  return (plan.validation_examples() + batch_size - 1) / batch_size;
}

}  // namespace

EvaluationRound::EvaluationRound(const proto::JobPlan& plan, const proto::KeptCut& cut)
    : cut_(cut.cut()), epoch_(cut.epoch()), leases_(0, BatchCount(plan)), metrics_(plan) {
  CAIRN_CHECK(BatchCount(plan) > 0);
  results_.resize(BatchCount(plan));
}

std::vector<proto::Split> EvaluationRound::Grant(TaskId worker, int64_t workers,
                                                 absl::Duration now) {
  return leases_.Grant(worker, workers, static_cast<int64_t>(results_.size()), now);
}

bool EvaluationRound::Done(TaskId id, const proto::EvaluatedBatch& batch, absl::Duration now) {
  const int64_t index = batch.batch();
  // A late result of an earlier round.
  if (batch.cut() != cut_) return true;
  if (index < 0 || index >= static_cast<int64_t>(results_.size())) return false;
  if (batch.examples() < 0 || !metrics_.Fits(batch.metric_states())) return false;
  // A worker that was away, or whose coordinator was, may have done a batch that it has no more.
  if (leases_.Done(id, index, now) != BatchLeases::Result::kFirst) return true;
  results_[index] = {batch.examples(), batch.loss_sum(), batch.metric_states(),
                     batch.data_not_finite()};
  Sum();
  return true;
}

void EvaluationRound::Sum() {
  const auto batches = static_cast<int64_t>(results_.size());
  for (; summed_ < batches && results_[summed_].examples >= 0; ++summed_) {
    Batch& batch = results_[summed_];
    examples_ += batch.examples;
    loss_ += batch.loss;
    data_not_finite_ |= batch.data_not_finite;
    if (metrics_.Fits(batch.states)) metrics_.Add(batch.states);
    batch.states = MetricSums::States();
  }
}

void EvaluationRound::Drop(TaskId worker) { leases_.Drop(worker); }

proto::EvaluationRecord EvaluationRound::Result() const {
  CAIRN_CHECK(done());
  proto::EvaluationRecord record;
  record.set_epoch(epoch_);
  record.set_examples(examples_);
  record.set_loss(examples_ > 0 ? loss_ / static_cast<double>(examples_) : 0);
  for (const double value : metrics_.Values()) record.add_metrics(value);
  record.set_data_not_finite(data_not_finite_);
  return record;
}

}  // namespace cairn::coordinator
