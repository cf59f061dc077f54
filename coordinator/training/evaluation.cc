#include "coordinator/training/evaluation.h"

#include <algorithm>

#include "common/check.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kOnHandFirst = 2;
constexpr int64_t kOnHandMax = 1024;
constexpr absl::Duration kForgottenAfter = absl::Minutes(1);

}  // namespace

Evaluation::Evaluation(uint64_t cut, int64_t epoch, int64_t batches, int metrics)
    : cut_(cut), epoch_(epoch), metrics_(metrics), open_(0, batches), results_(batches) {
  CAIRN_CHECK(batches > 0);
}

// Half a second's work, and at the end the same for everybody.
int64_t Evaluation::Target(const Worker& worker, int64_t workers, absl::Duration now) const {
  int64_t target = kOnHandFirst;
  const double seconds = absl::ToDoubleSeconds(now - worker.granted_at);
  if (worker.done_since > 0 && seconds > 0) {
    target = static_cast<int64_t>(static_cast<double>(worker.done_since) / seconds / 2);
  }
  const int64_t left = static_cast<int64_t>(results_.size()) - done_count_;
  const int64_t fair_share = (left + workers - 1) / workers;
  return std::min(std::clamp(target, kOnHandFirst, kOnHandMax), fair_share);
}

std::vector<proto::Split> Evaluation::Grant(TaskId id, int64_t workers, absl::Duration now) {
  std::vector<proto::Split> splits;
  TakeBackForgotten(now);
  if (open_.empty()) return splits;
  Worker& worker = workers_[id];
  const int64_t target = Target(worker, std::max<int64_t>(1, workers), now);
  // Refilled when half is done: one grant for many batches.
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

void Evaluation::Done(TaskId id, const proto::EvaluatedBatch& batch, absl::Duration now) {
  const int64_t index = batch.batch();
  if (batch.cut() != cut_ || index < 0 || index >= static_cast<int64_t>(results_.size())) return;
  if (batch.examples() < 0 || batch.metric_sums_size() != metrics_ ||
      batch.metric_counts_size() != metrics_) {
    return;
  }
  Worker& worker = workers_[id];
  worker.leased.Remove(index, index + 1);
  ++worker.done_since;
  worker.heard_at = now;
  Sums& sums = results_[index];
  if (sums.examples >= 0) return;
  sums = {batch.examples(),
          batch.loss_sum(),
          {batch.metric_sums().begin(), batch.metric_sums().end()},
          {batch.metric_counts().begin(), batch.metric_counts().end()}};
  open_.Remove(index, index + 1);
  ++done_count_;
}

// What somebody else has reported meanwhile is not done again.
void Evaluation::Reopen(const BatchRanges& leased) {
  for (const auto& [begin, end] : leased.ranges()) {
    for (int64_t batch = begin; batch < end; ++batch) {
      if (results_[batch].examples < 0) open_.Add(batch, batch + 1);
    }
  }
}

void Evaluation::TakeBackForgotten(absl::Duration now) {
  for (auto& [id, worker] : workers_) {
    if (worker.leased.empty() || now - worker.heard_at < kForgottenAfter) continue;
    Reopen(worker.leased);
    worker.leased.Clear();
  }
}

void Evaluation::Drop(TaskId id) {
  auto it = workers_.find(id);
  if (it == workers_.end()) return;
  Reopen(it->second.leased);
  workers_.erase(it);
}

proto::EvaluationRecord Evaluation::Result() const {
  CAIRN_CHECK(done());
  int64_t examples = 0;
  double loss = 0;
  std::vector<double> metrics(metrics_), counts(metrics_);
  for (const Sums& sums : results_) {
    examples += sums.examples;
    loss += sums.loss;
    for (int i = 0; i < metrics_; ++i) {
      metrics[i] += sums.metrics[i];
      counts[i] += sums.counts[i];
    }
  }
  proto::EvaluationRecord record;
  record.set_epoch(epoch_);
  record.set_examples(examples);
  record.set_loss(examples > 0 ? loss / static_cast<double>(examples) : 0);
  for (int i = 0; i < metrics_; ++i) {
    record.add_metrics(counts[i] > 0 ? metrics[i] / counts[i] : 0);
  }
  return record;
}

}  // namespace cairn::coordinator
