#include "coordinator/training/metric_sums.h"

#include <cmath>
#include <limits>

#include "common/check.h"
#include "job/job_objective.h"
#include "nn/model.h"

namespace cairn::coordinator {

MetricSums::MetricSums(const proto::JobPlan& plan) : sums_(plan.job().metrics_size()) {
  const auto model = nn::Model::Create(plan.model());
  if (!model.ok()) return;
  const auto objective = job::CreateObjective(plan.job(), **model);
  if (!objective.ok() || objective->metrics().size() != sums_.size()) return;
  const std::vector<job::JobMetric> metrics = job::JobMetrics(plan.job());
  for (size_t i = 0; i < sums_.size(); ++i) {
    auto result = nn::CreateMetricResult(metrics[i].config);
    if (!result.ok()) continue;
    sums_[i].result = *std::move(result);
    sums_[i].state.resize(objective->metrics()[i].metric->state_size());
  }
}

bool MetricSums::Fits(const States& states) const {
  if (states.size() != static_cast<int>(sums_.size())) return false;
  for (int i = 0; i < states.size(); ++i) {
    if (states[i].values_size() != static_cast<int>(sums_[i].state.size())) return false;
  }
  return true;
}

void MetricSums::Add(const States& states) {
  CAIRN_CHECK(Fits(states));
  for (int i = 0; i < states.size(); ++i) {
    sums_[i].is_empty = false;
    for (int j = 0; j < states[i].values_size(); ++j) sums_[i].state[j].Add(states[i].values(j));
  }
}

std::vector<double> MetricSums::Values() const {
  std::vector<double> values;
  for (const Sum& sum : sums_) {
    std::vector<double> state;
    for (const PreciseSum& number : sum.state) state.push_back(number.value());
    if (sum.result == nullptr) {
      values.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
      values.push_back(sum.is_empty ? 0 : sum.result(state));
    }
  }
  return values;
}

void MetricSums::ToProto(google::protobuf::RepeatedPtrField<proto::MetricSum>* sums) const {
  for (const Sum& sum : sums_) {
    proto::MetricSum* record = sums->Add();
    if (sum.is_empty) continue;
    bool has_low = false;
    for (const PreciseSum& number : sum.state) {
      record->add_high(number.high);
      has_low |= number.low != 0;
    }
    if (!has_low) continue;
    for (const PreciseSum& number : sum.state) record->add_low(number.low);
  }
}

void MetricSums::FromProto(const google::protobuf::RepeatedPtrField<proto::MetricSum>& sums) {
  if (sums.size() != static_cast<int>(sums_.size())) return;
  for (int i = 0; i < sums.size(); ++i) {
    const int size = static_cast<int>(sums_[i].state.size());
    if (sums[i].high_size() != size || (sums[i].low_size() != 0 && sums[i].low_size() != size)) {
      continue;
    }
    sums_[i].is_empty = false;
    for (int j = 0; j < size; ++j) {
      sums_[i].state[j] = {sums[i].high(j), sums[i].low_size() > 0 ? sums[i].low(j) : 0};
    }
  }
}

}  // namespace cairn::coordinator
