#include "nn/objective/objective.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

absl::Status At(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

// A field's path for error messages; names the output if the model has several.
std::string PathOf(const char* field, const Model& model, size_t output) {
  if (model.outputs().size() == 1) return field;
  return absl::StrCat(field, " of output '", model.outputs()[output].name, "'");
}

absl::StatusOr<Objective::Term> CreateTerm(const proto::Job& job, const Model& model, int output) {
  const bool is_said = output < job.outputs_size();
  const proto::TrainedOutput said = is_said ? job.outputs(output) : proto::TrainedOutput();
  auto loss = CreateLoss(said.has_loss() ? said.loss() : job.loss());
  CAIRN_RETURN_IF_ERROR(At(PathOf("loss", model, output), loss.status()));
  const double weight = said.has_loss_weight() ? said.loss_weight() : 1;
  if (!std::isfinite(static_cast<float>(weight))) {
    return absl::InvalidArgumentError(absl::StrCat(PathOf("loss_weights", model, output), ": ",
                                                   weight, " is not a finite float32"));
  }
  return Objective::Term{.loss = *std::move(loss), .weight = weight};
}

}  // namespace

absl::StatusOr<Objective> Objective::Create(const proto::Job& job, const Model& model) {
  Objective objective;
  const int outputs = static_cast<int>(model.outputs().size());
  for (int output = 0; output < outputs; ++output) {
    CAIRN_ASSIGN_OR_RETURN(objective.terms_.emplace_back(), CreateTerm(job, model, output));
  }
  const std::vector<JobMetric> metrics = JobMetrics(job);
  for (size_t i = 0; i < metrics.size(); ++i) {
    const std::string path =
        outputs == 1 ? absl::StrCat("metrics[", i, "]") : absl::StrCat("metrics: ", job.metrics(i));
    const int output = metrics[i].output;
    if (output < 0 || output >= outputs) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the model has no output ", output, ", only ", outputs));
    }
    auto metric = CreateMetric(metrics[i].config, *objective.terms_[output].loss,
                               model.outputs()[output].shape);
    CAIRN_RETURN_IF_ERROR(At(path, metric.status()));
    objective.measures_.push_back({.metric = *std::move(metric), .output = output});
  }
  return objective;
}

}  // namespace cairn::nn
