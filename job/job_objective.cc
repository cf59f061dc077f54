#include "job/job_objective.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/model_objectives.h"

namespace cairn::job {
namespace {

absl::Status At(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

// A field's path for error messages; names the output if the model has several.
std::string PathOf(const char* field, const nn::Model& model, size_t output) {
  if (model.outputs().size() == 1) return field;
  return absl::StrCat(field, " of output '", model.outputs()[output].name, "'");
}

absl::StatusOr<nn::Objective::OutputLoss> CreateOutputLoss(const proto::Job& job,
                                                           const nn::Model& model, int output) {
  const bool is_said = output < job.outputs_size();
  const proto::TrainedOutput said = is_said ? job.outputs(output) : proto::TrainedOutput();
  auto loss = nn::CreateLoss(said.has_loss() ? said.loss() : job.loss());
  CAIRN_RETURN_IF_ERROR(At(PathOf("loss", model, output), loss.status()));
  // Before a metric that only follows from the loss is blamed.
  CAIRN_RETURN_IF_ERROR(
      At(PathOf("loss", model, output), (*loss)->ValidateOutput(model.outputs()[output].shape)));
  const double weight = said.has_loss_weight() ? said.loss_weight() : 1;
  if (!std::isfinite(static_cast<float>(weight))) {
    return absl::InvalidArgumentError(absl::StrCat(PathOf("loss_weights", model, output), ": ",
                                                   weight, " is not a finite float32"));
  }
  return nn::Objective::OutputLoss{.loss = *std::move(loss), .weight = weight};
}

absl::StatusOr<nn::Objective> LossesOfObjectives(const proto::Job& job, const nn::Model& model) {
  std::vector<nn::Objective::OutputMetric> metrics;
  for (const proto::ModelObjective& objective : job.objectives()) {
    if (objective.losses().empty()) return absl::InvalidArgumentError("an objective has no losses");
    CAIRN_ASSIGN_OR_RETURN(const auto loss, nn::CreateLoss(objective.losses(0).loss()));
    proto::Metric config;
    config.set_name("loss");
    nn::Objective::OutputMetric& metric = metrics.emplace_back();
    CAIRN_ASSIGN_OR_RETURN(metric.metric, nn::CreateMetric(config, *loss, model.output_shape()));
  }
  return nn::Objective({}, std::move(metrics));
}

}  // namespace

std::vector<JobMetric> JobMetrics(const proto::Job& job) {
  std::vector<JobMetric> metrics(job.metrics_size());
  for (int i = 0; i < job.metrics_size(); ++i) metrics[i].config.set_name(job.metrics(i));
  for (const proto::MetricArguments& more : job.metric_arguments()) {
    if (more.index() >= metrics.size()) continue;
    metrics[more.index()] = {more.metric(), static_cast<int>(more.output()), more.weighted()};
  }
  return metrics;
}

absl::StatusOr<nn::Objective> CreateObjective(const proto::Job& job, const nn::Model& model) {
  if (HasModels(job)) return LossesOfObjectives(job, model);
  std::vector<nn::Objective::OutputLoss> losses;
  std::vector<nn::Objective::OutputMetric> output_metrics;
  const int outputs = static_cast<int>(model.outputs().size());
  for (int output = 0; output < outputs; ++output) {
    CAIRN_ASSIGN_OR_RETURN(losses.emplace_back(), CreateOutputLoss(job, model, output));
  }
  const std::vector<JobMetric> metrics = JobMetrics(job);
  const auto unweighted = std::count_if(metrics.begin(), metrics.end(),
                                        [](const JobMetric& metric) { return !metric.weighted; });
  for (size_t i = 0; i < metrics.size(); ++i) {
    // Those of "weighted_metrics" follow those of "metrics".
    const char* const field = metrics[i].weighted ? "weighted_metrics" : "metrics";
    const auto index = static_cast<int64_t>(i) - (metrics[i].weighted ? unweighted : 0);
    const std::string path = outputs == 1 ? absl::StrCat(field, "[", index, "]")
                                          : absl::StrCat(field, ": ", job.metrics(i));
    const int output = metrics[i].output;
    if (output < 0 || output >= outputs) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the model has no output ", output, ", only ", outputs));
    }
    auto metric = nn::CreateMetric(metrics[i].config, *losses[output].loss,
                                   model.outputs()[output].shape, metrics[i].weighted);
    CAIRN_RETURN_IF_ERROR(At(path, metric.status()));
    output_metrics.push_back({.metric = *std::move(metric), .output = output});
  }
  return nn::Objective(std::move(losses), std::move(output_metrics));
}

}  // namespace cairn::job
