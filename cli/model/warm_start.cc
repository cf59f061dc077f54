#include "cli/model/warm_start.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/model/trained_model.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "nn/initializer.h"
#include "nn/model.h"
#include "nn/tensor.h"

namespace cairn::cli {
namespace {

// Takes each of the model's variables from `from`, where it is there in the same shape.
WarmStart Match(const nn::Model& model, const SubmittedModel& submitted, uint64_t seed,
                TrainedModel from) {
  std::map<std::string, int> place;
  const auto& old = from.plan.partition().variables();
  for (int i = 0; i < old.size(); ++i) place[old[i].name()] = i;
  WarmStart warm;
  for (size_t i = 0; i < model.variables().size(); ++i) {
    const nn::VariableSpec& variable = model.variables()[i];
    const auto found = place.find(variable.name);
    nn::Shape shape;
    if (found != place.end()) {
      shape.assign(old[found->second].shape().begin(), old[found->second].shape().end());
    }
    if (found != place.end() && shape == variable.shape) {
      warm.variables.push_back(std::move(from.variables[found->second]));
      ++warm.taken;
      continue;
    }
    warm.variables.push_back(FreshValues(variable, submitted, i, seed));
    warm.fresh.push_back(found == place.end()
                             ? variable.name
                             : absl::StrCat(variable.name, " ", nn::ShapeText(variable.shape),
                                            ", there ", nn::ShapeText(shape)));
  }
  return warm;
}

}  // namespace

absl::Status AtResumeFrom(const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("resume_from: ", std::string(status.message())));
}

std::vector<float> FreshValues(const nn::VariableSpec& variable, const SubmittedModel& model,
                               size_t position, uint64_t seed) {
  if (!model.weights.empty()) return model.weights[position];
  std::vector<float> values(variable.element_count());
  nn::FillInitialValues(variable, seed, 0, variable.element_count(), values.data());
  return values;
}

absl::StatusOr<WarmStart> ReadWarmStart(JobSource* source, const proto::Job& job,
                                        const SubmittedModel& submitted) {
  const proto::ResumeFrom& choice = job.resume_from();
  CheckpointChoice checkpoint_choice = choice.checkpoint();
  checkpoint_choice.best = choice.best();
  absl::StatusOr<TrainedModel> from = ReadTrainedModel(source, choice.name(), checkpoint_choice);
  if (absl::IsNotFound(from.status()) && job.resume_from().state().empty()) {
    return AtResumeFrom(absl::NotFoundError(
        absl::StrCat(std::string(from.status().message()), "; of another run say {\"name\": \"",
                     job.resume_from().name(), "\", \"state\": \"its state directory\"}")));
  }
  if (!from.ok()) return AtResumeFrom(from.status());
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(submitted.spec));
  const uint64_t checkpoint = from->checkpoint.checkpoint();
  const proto::JobPlan plan = from->plan;
  WarmStart warm = Match(*model, submitted, job.seed(), *std::move(from));
  warm.from = absl::StrCat("checkpoint ", checkpoint, " of job ", plan.job_id(), " (",
                           plan.job().name(), ")");
  if (warm.taken > 0) return warm;
  return AtResumeFrom(absl::InvalidArgumentError(
      absl::StrCat("job ", plan.job_id(), " (", plan.job().name(),
                   ") has none of this model's variables: ", absl::StrJoin(warm.fresh, "; "))));
}

std::vector<std::string> WarmStartNotes(const WarmStart& warm) {
  std::vector<std::string> notes = {
      absl::StrCat("takes ", Plural(warm.taken, "variable"), " from ", warm.from)};
  if (!warm.fresh.empty()) {
    notes.push_back(absl::StrCat("starts anew: ", absl::StrJoin(warm.fresh, "; ")));
  }
  if (!warm.left.empty()) {
    notes.push_back(absl::StrCat("has no place for: ", absl::StrJoin(warm.left, "; ")));
  }
  return notes;
}

}  // namespace cairn::cli
