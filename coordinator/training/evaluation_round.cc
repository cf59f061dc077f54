#include "coordinator/training/evaluation_round.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kOnHandFirst = 2;
constexpr int64_t kOnHandMax = 1024;
constexpr absl::Duration kForgottenAfter = absl::Minutes(1);
constexpr absl::Duration kLookForForgotten = absl::Seconds(1);

}  // namespace

EvaluationRound::EvaluationRound(const proto::JobPlan& plan, const proto::KeptCut& cut)
    : cut_(cut.cut()), epoch_(cut.epoch()), metrics_(plan) {
  const int64_t batch_size = std::max<int64_t>(1, plan.batch_size());
  const int64_t batches = (plan.validation_examples() + batch_size - 1) / batch_size;
  CAIRN_CHECK(batches > 0);
  open_.Add(0, batches);
  results_.resize(batches);
}

// Half a second of work per worker. Near the end the rest is divided evenly, so that all workers
// finish together.
int64_t EvaluationRound::Target(const Worker& worker, int64_t workers, absl::Duration now) const {
  int64_t target = kOnHandFirst;
  const double seconds = absl::ToDoubleSeconds(now - worker.granted_at);
  if (worker.done_since > 0 && seconds > 0) {
    target = static_cast<int64_t>(static_cast<double>(worker.done_since) / seconds / 2);
  }
  const int64_t left = static_cast<int64_t>(results_.size()) - done_count_;
  const int64_t fair_share = (left + workers - 1) / workers;
  return std::min(std::clamp(target, kOnHandFirst, kOnHandMax), fair_share);
}

std::vector<proto::Split> EvaluationRound::Grant(TaskId id, int64_t workers, absl::Duration now) {
  std::vector<proto::Split> splits;
  TakeBackForgotten(now);
  if (open_.empty()) return splits;
  Worker& worker = workers_[id];
  const int64_t target = Target(worker, std::max<int64_t>(1, workers), now);
  // Refilled when half is done: one grant serves many batches.
  if (worker.leased.size() > target / 2) return splits;
  if (worker.leased.empty()) {
    worker.granted_at = now;
    worker.done_since = 0;
  }
  worker.heard_at = now;
  while (!open_.empty() && worker.leased.size() < target) {
    const auto [begin, range_end] = *open_.ranges().begin();
    const int64_t end = std::min(range_end, begin + target - worker.leased.size());
    open_.Remove(begin, end);
    worker.leased.Add(begin, end);
    proto::Split& split = splits.emplace_back();
    split.set_first(begin);
    split.set_stride(1);
    split.set_count(end - begin);
  }
  return splits;
}

void EvaluationRound::Done(TaskId id, const proto::EvaluatedBatch& batch, absl::Duration now) {
  const int64_t index = batch.batch();
  if (batch.cut() != cut_ || index < 0 || index >= static_cast<int64_t>(results_.size())) return;
  if (batch.examples() < 0 || !metrics_.Fits(batch.metric_states())) return;
  // Only the result of a worker that was asked counts.
  Worker& worker = workers_[id];
  if (!worker.leased.Contains(index)) return;
  worker.leased.Remove(index, index + 1);
  ++worker.done_since;
  worker.heard_at = now;
  Batch& result = results_[index];
  // Two workers may compute the same batch. The first result counts.
  if (result.examples >= 0) return;
  result = {batch.examples(), batch.loss_sum(), batch.metric_states(), batch.data_not_finite()};
  open_.Remove(index, index + 1);
  ++done_count_;
  Sum();
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

// Batches that another worker reported meanwhile stay done.
void EvaluationRound::Reopen(const BatchRanges& leased) {
  for (const auto& [begin, end] : leased.ranges()) {
    for (int64_t batch = begin; batch < end; ++batch) {
      if (results_[batch].examples < 0) open_.Add(batch, batch + 1);
    }
  }
}

void EvaluationRound::TakeBackForgotten(absl::Duration now) {
  if (now - looked_for_forgotten_at_ < kLookForForgotten) return;
  looked_for_forgotten_at_ = now;
  for (auto& [id, worker] : workers_) {
    if (worker.leased.empty() || now - worker.heard_at < kForgottenAfter) continue;
    Reopen(worker.leased);
    worker.leased.Clear();
  }
}

void EvaluationRound::Drop(TaskId id) {
  auto it = workers_.find(id);
  if (it == workers_.end()) return;
  Reopen(it->second.leased);
  workers_.erase(it);
}

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
