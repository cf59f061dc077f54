#include "cli/model/warm_start.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/model/trained_model.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/model_program.h"
#include "nn/initializer.h"
#include "nn/model.h"
#include "nn/tensor.h"

namespace cairn::cli {
namespace {

struct OldVariable {
  int place = 0;  // In the order of the partition.
  nn::Shape shape;
};

std::map<std::string, OldVariable> OldVariablesOf(const TrainedModel& from) {
  std::map<std::string, OldVariable> old;
  const auto& variables = from.plan.partition().variables();
  for (int i = 0; i < variables.size(); ++i) {
    const auto& shape = variables[i].shape();
    old[variables[i].name()] = {i, {shape.begin(), shape.end()}};
  }
  return old;
}

// Takes each of the model's variables from `from`, where it is there in the same shape.
WarmStart Match(const nn::Model& model, const SubmittedModel& submitted, uint64_t seed,
                TrainedModel from) {
  const std::map<std::string, OldVariable> old = OldVariablesOf(from);
  WarmStart warm;
  for (size_t i = 0; i < model.variables().size(); ++i) {
    const nn::VariableSpec& variable = model.variables()[i];
    const auto found = old.find(variable.name);
    if (found != old.end() && found->second.shape == variable.shape) {
      warm.variables.push_back(std::move(from.variables[found->second.place]));
      ++warm.taken;
      continue;
    }
    warm.variables.push_back(FreshValues(variable, submitted, i, seed));
    warm.fresh.push_back(found == old.end()
                             ? variable.name
                             : absl::StrCat(variable.name, " ", nn::ShapeText(variable.shape),
                                            ", there ", nn::ShapeText(found->second.shape)));
  }
  return warm;
}

absl::Status AtWithOptimizer(const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("resume_from.with_optimizer: ", problem));
}

// The optimizers of a job: one, or those of its objectives.
std::vector<std::string> OptimizersOf(const proto::Job& job) {
  std::vector<std::string> names;
  for (const auto& objective : job.objectives()) names.push_back(objective.optimizer().name());
  if (names.empty()) names.push_back(job.optimizer().name());
  for (std::string& name : names) absl::AsciiStrToLower(&name);
  return names;
}

// Whether the state has one value, and one of each slot, for each element of the variable.
bool IsComplete(const cluster::VariableState& state, const nn::VariableSpec& variable) {
  const auto elements = static_cast<size_t>(variable.element_count());
  return state.values.size() == elements && state.slot_values.size() == state.slots.size() &&
         std::all_of(state.slot_values.begin(), state.slot_values.end(),
                     [&](const auto& slot) { return slot.size() == elements; });
}

// As Match, with the states of the optimizer.
absl::StatusOr<WarmStart> MatchStates(const nn::Model& model, const proto::Job& job,
                                      const SubmittedModel& submitted, const TrainedModel& from,
                                      std::vector<cluster::VariableState> states) {
  const std::string other =
      absl::StrCat("job ", from.plan.job_id(), " (", from.plan.job().name(), ")");
  const std::string had = absl::StrJoin(OptimizersOf(from.plan.job()), ", ");
  const std::string has = absl::StrJoin(OptimizersOf(job), ", ");
  if (had != has) {
    return AtWithOptimizer(absl::StrCat(other, " was trained with ", had, ", this job has ", has,
                                        "; use the same optimizer, or leave with_optimizer out"));
  }
  CAIRN_ASSIGN_OR_RETURN(const job::VariableRules rules,
                         job::VariableRules::Create(job, submitted.spec, model.variables()));
  const std::map<std::string, OldVariable> old = OldVariablesOf(from);
  WarmStart warm;
  for (size_t i = 0; i < model.variables().size(); ++i) {
    const nn::VariableSpec& variable = model.variables()[i];
    const auto found = old.find(variable.name);
    if (found == old.end() || found->second.shape != variable.shape) {
      return AtWithOptimizer(absl::StrCat(other, " does not have the variable ", variable.name, " ",
                                          nn::ShapeText(variable.shape),
                                          "; leave with_optimizer out to start from the others"));
    }
    cluster::VariableState& state = states[found->second.place];
    if (!IsComplete(state, variable)) {
      return absl::DataLossError(absl::StrCat("resume_from: checkpoint ",
                                              from.checkpoint.checkpoint(), " of ", other,
                                              " does not have all values of ", variable.name));
    }
    const auto names = rules.optimizers[rules.optimizer_of[i]]->slot_names();
    const size_t wanted =
        variable.update == nn::VariableSpec::Update::kOptimized ? names.size() : 0;
    if (state.slots != std::vector<std::string>(names.begin(), names.begin() + wanted)) {
      return AtWithOptimizer(absl::StrCat(
          "in ", other, " ", has, " keeps (", absl::StrJoin(state.slots, ", "), ") of ",
          variable.name, ", here it would keep (", absl::StrJoin(names.first(wanted), ", "),
          "); use the same arguments of the optimizer, or leave with_optimizer out"));
    }
    warm.states.push_back(std::move(state));
    ++warm.taken;
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
  const bool with_optimizer = choice.with_optimizer();
  absl::StatusOr<TrainedModel> from =
      with_optimizer ? FindTrainedModel(source, choice.name(), checkpoint_choice)
                     : ReadTrainedModel(source, choice.name(), checkpoint_choice);
  if (absl::IsNotFound(from.status()) && job.resume_from().state().empty()) {
    return AtResumeFrom(absl::NotFoundError(
        absl::StrCat(std::string(from.status().message()), "; of another run say {\"name\": \"",
                     job.resume_from().name(), "\", \"state\": \"its state directory\"}")));
  }
  if (!from.ok()) return AtResumeFrom(from.status());
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(submitted.spec));
  const uint64_t checkpoint = from->checkpoint.checkpoint();
  const proto::JobPlan plan = from->plan;
  WarmStart warm;
  if (with_optimizer) {
    auto states = source->ReadStates(plan, from->checkpoint);
    if (!states.ok()) return AtResumeFrom(states.status());
    CAIRN_ASSIGN_OR_RETURN(warm, MatchStates(*model, job, submitted, *from, *std::move(states)));
  } else {
    warm = Match(*model, submitted, job.seed(), *std::move(from));
  }
  warm.from = absl::StrCat("checkpoint ", checkpoint, " of job ", plan.job_id(), " (",
                           plan.job().name(), ")");
  if (warm.taken > 0) return warm;
  return AtResumeFrom(absl::InvalidArgumentError(
      absl::StrCat("job ", plan.job_id(), " (", plan.job().name(),
                   ") has none of this model's variables: ", absl::StrJoin(warm.fresh, "; "))));
}

std::vector<std::string> WarmStartNotes(const WarmStart& warm) {
  std::vector<std::string> notes = {
      absl::StrCat("takes ", Plural(warm.taken, "variable"),
                   warm.states.empty() ? "" : " and the optimizer's state", " from ", warm.from)};
  if (!warm.fresh.empty()) {
    notes.push_back(absl::StrCat("starts anew: ", absl::StrJoin(warm.fresh, "; ")));
  }
  if (!warm.left.empty()) {
    notes.push_back(absl::StrCat("has no place for: ", absl::StrJoin(warm.left, "; ")));
  }
  return notes;
}

}  // namespace cairn::cli
