#include "worker/job_model.h"

#include <map>
#include <string>

#include "common/status_macros.h"

namespace cairn::worker {
absl::StatusOr<JobModel> JobModel::Create(const proto::Job& job, const proto::ModelSpec& spec) {
  JobModel result;
  CAIRN_ASSIGN_OR_RETURN(result.model, nn::Model::Create(spec));
  CAIRN_ASSIGN_OR_RETURN(result.loss, nn::CreateLoss(job.loss()));
  for (const proto::Metric& metric : nn::MetricConfigs(job)) {
    CAIRN_ASSIGN_OR_RETURN(result.metrics.emplace_back(),
                           nn::CreateMetric(metric, *result.loss, result.model->output_shape()));
  }
  if (!job.class_weight().empty()) {
    const std::map<int64_t, double> weights(job.class_weight().begin(), job.class_weight().end());
    CAIRN_ASSIGN_OR_RETURN(
        result.class_weights,
        nn::ClassWeights::Create(weights, *result.loss, result.model->output_shape()));
  }
  return result;
}

std::vector<const nn::Metric*> JobModel::metric_list() const {
  std::vector<const nn::Metric*> list;
  for (const auto& metric : metrics) list.push_back(metric.get());
  return list;
}

}  // namespace cairn::worker
