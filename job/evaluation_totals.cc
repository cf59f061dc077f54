#include "job/evaluation_totals.h"

namespace cairn::job {

EvaluationTotals::EvaluationTotals(const nn::Objective& objective) : metrics_(objective.metrics()) {
  for (const auto& metric : metrics_) states_.emplace_back(metric.metric->state_size(), 0.0);
}

bool EvaluationTotals::Add(const proto::EvaluatedBatch& batch) {
  if (batch.examples() < 0 || batch.metric_states_size() != static_cast<int>(states_.size())) {
    return false;
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto& values = batch.metric_states(static_cast<int>(i)).values();
    if (values.size() != static_cast<int>(states_[i].size())) return false;
  }
  examples_ += batch.examples();
  loss_ += batch.loss_sum();
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto& values = batch.metric_states(static_cast<int>(i)).values();
    for (size_t j = 0; j < states_[i].size(); ++j) states_[i][j] += values[static_cast<int>(j)];
  }
  return true;
}

proto::EvaluationRecord EvaluationTotals::Means() const {
  proto::EvaluationRecord record;
  record.set_examples(examples_);
  record.set_loss(examples_ > 0 ? loss_ / static_cast<double>(examples_) : 0);
  for (size_t i = 0; i < metrics_.size(); ++i) {
    record.add_metrics(metrics_[i].metric->Result(states_[i]));
  }
  return record;
}

}  // namespace cairn::job
