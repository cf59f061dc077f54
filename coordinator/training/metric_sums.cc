#include "coordinator/training/metric_sums.h"

#include <cmath>

#include "absl/types/span.h"
#include "common/check.h"
#include "job/job_objective.h"

namespace cairn::coordinator {

MetricSums::MetricSums(const proto::Job& job) : sums_(job.metrics_size()) {
  for (const job::JobMetric& metric : job::JobMetrics(job)) {
    results_.push_back(nn::CreateMetricResult(metric.config).value_or([](absl::Span<const double>) {
      return std::nan("");
    }));
  }
}

bool MetricSums::Fits(const States& states) const {
  if (states.size() != static_cast<int>(sums_.size())) return false;
  for (int i = 0; i < states.size(); ++i) {
    const size_t size = states[i].values_size();
    if (size == 0 || (!sums_[i].empty() && size != sums_[i].size())) return false;
  }
  return true;
}

void MetricSums::Add(const States& states, double sign) {
  CAIRN_CHECK(Fits(states));
  for (int i = 0; i < states.size(); ++i) {
    sums_[i].resize(states[i].values_size());
    for (int j = 0; j < states[i].values_size(); ++j) sums_[i][j] += sign * states[i].values(j);
  }
}

std::vector<double> MetricSums::Values() const {
  std::vector<double> values;
  for (size_t i = 0; i < sums_.size(); ++i) {
    values.push_back(sums_[i].empty() ? 0 : results_[i](sums_[i]));
  }
  return values;
}

}  // namespace cairn::coordinator
