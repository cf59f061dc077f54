#include "job/model_objectives.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"
#include "job/callback_kinds.h"
#include "job/field_checks.h"
#include "job/model_expression.h"
#include "nn/loss.h"
#include "nn/optimizer.h"

namespace cairn::job {
namespace {

constexpr int kModelsMax = 16;
constexpr int kObjectivesMax = 16;
constexpr int kLossesMax = 16;
constexpr int64_t kEveryMax = 1'000'000;

// Fields that say in a job of one model what `objectives` say here, or have no meaning here.
absl::Status CheckOtherFields(const proto::Job& job) {
  struct Field {
    const char* name;
    bool is_said;
    const char* reason;
  };
  constexpr const char* kInObjectives = "each of the \"objectives\" has its own";
  constexpr const char* kNoValidation = "a job of several models does not validate";
  const Field fields[] = {
      {"model", !job.model().empty(), "conflicts with \"models\"; keep one of them"},
      {"loss", job.has_loss(), kInObjectives},
      {"loss", !job.outputs().empty(), kInObjectives},
      {"optimizer", job.has_optimizer(), kInObjectives},
      {"metrics", !job.metrics().empty(),
       "a job of several models reports the loss of each objective, and no metrics"},
      {"class_weight", !job.class_weight().empty(), "is for jobs of one model"},
      {"train.mix", !job.train().mix().empty(), "is for jobs of one model"},
      {"train.zip", !job.train().zip().empty(), "is for jobs of one model"},
      {"train.sample_weight", !job.train().sample_weight().empty(), "is for jobs of one model"},
      {"validation", job.has_validation(), kNoValidation},
      {"validation_fraction", job.has_validation_fraction(), kNoValidation},
      {"validation_steps", job.has_validation_steps(), kNoValidation},
      {"validation_freq", job.has_validation_freq() || !job.validation_freq_epochs().empty(),
       kNoValidation},
      {"scale_learning_rate", job.scale_learning_rate(),
       "scales one learning rate, and each objective has its own; multiply their rates"},
      {"on_non_finite", job.on_non_finite() == "rollback",
       "\"rollback\" halves one learning rate, and each objective has its own; use \"reject\" or "
       "\"fail\""},
  };
  for (const Field& field : fields) {
    if (field.is_said) return BadField(field.name, field.reason);
  }
  for (int i = 0; i < job.callbacks_size(); ++i) {
    for (const char* kind :
         {"reduce_lr_on_plateau", "learning_rate_scheduler", "learning_rate_warmup"}) {
      if (!IsCallback(job.callbacks(i).name(), kind)) continue;
      return BadField(absl::StrCat("callbacks[", i, "]"), kind,
                      " changes one learning rate, and each objective has its own; give their "
                      "optimizers schedules");
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> ModelNames(const proto::Job& job) {
  std::vector<std::string> names;
  for (const auto& [name, file] : job.models()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status CheckModels(const proto::Job& job) {
  if (job.models().empty()) {
    return BadField("models", R"(is missing; for example "models": {"generator": "g.json"})");
  }
  if (job.models_size() > kModelsMax) {
    return BadField("models", "has ", job.models_size(), " models; at most ", kModelsMax,
                    " are allowed");
  }
  for (const std::string& name : ModelNames(job)) {
    if (!IsModelName(name)) {
      return BadField("models", "'", name,
                      "' cannot be the name of a model: use letters, digits and _, and none of "
                      "data, noise, labels");
    }
    if (job.models().at(name).empty()) {
      return BadField(absl::StrCat("models.", name), "\"\" is not the name of a file");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckIsModel(const std::string& path, const std::string& name, const proto::Job& job) {
  if (job.models().contains(name)) return absl::OkStatus();
  return BadField(path, "there is no model '", name, "'; ", KnownNamesText(name, ModelNames(job)));
}

absl::Status CheckCalls(const std::string& path, const ModelExpression& expression,
                        const proto::Job& job, std::set<std::string>* called) {
  if (expression.kind != ModelExpression::Kind::kCall) return absl::OkStatus();
  CAIRN_RETURN_IF_ERROR(CheckIsModel(path, expression.model, job));
  called->insert(expression.model);
  for (const ModelExpression& argument : expression.arguments) {
    CAIRN_RETURN_IF_ERROR(CheckCalls(path, argument, job, called));
  }
  return absl::OkStatus();
}

absl::Status CheckTarget(const std::string& path, const proto::ModelLoss& loss) {
  if (!loss.has_target() && loss.target_array().empty()) {
    return BadField(path, R"(is missing; say a number, "labels" or "data")");
  }
  if (loss.has_target() && !loss.target_array().empty()) {
    return BadField(path, "is a number and a text; keep one of them");
  }
  if (loss.has_target()) {
    if (std::isfinite(static_cast<float>(loss.target()))) return absl::OkStatus();
    return BadField(path, loss.target(), " is not a finite float32");
  }
  return CheckWord(path, loss.target_array(), {"labels", "data"});
}

absl::Status CheckLoss(const std::string& path, const proto::ModelLoss& loss, const proto::Job& job,
                       std::set<std::string>* called) {
  if (loss.of().empty()) {
    return BadField(path + ".of", "is missing; for example \"of\": \"discriminator(data)\"");
  }
  const auto expression = ParseModelExpression(loss.of());
  if (!expression.ok()) return BadField(path + ".of", expression.status().message());
  if (expression->kind != ModelExpression::Kind::kCall) {
    return BadField(path + ".of", "\"", loss.of(), "\" calls no model: there is nothing to train");
  }
  CAIRN_RETURN_IF_ERROR(CheckCalls(path + ".of", *expression, job, called));
  CAIRN_RETURN_IF_ERROR(CheckTarget(path + ".target", loss));
  if (loss.loss().name().empty()) {
    return BadField(path + ".loss", R"(is missing; for example "loss": "binary_crossentropy")");
  }
  if (const auto created = nn::CreateLoss(loss.loss()); !created.ok()) {
    return BadField(path + ".loss", created.status().message());
  }
  if (!loss.has_weight() || std::isfinite(static_cast<float>(loss.weight()))) {
    return absl::OkStatus();
  }
  return BadField(path + ".weight", loss.weight(), " is not a finite float32");
}

absl::Status CheckOptimizer(const std::string& path, const proto::Optimizer& optimizer) {
  if (optimizer.name().empty()) return BadField(path, R"(is missing; for example "adam")");
  if (const auto created = nn::CreateOptimizer(optimizer); !created.ok()) {
    return BadField(path, created.status().message());
  }
  for (const auto& [field, is_said] :
       {std::pair("clipnorm", optimizer.has_clipnorm()),
        std::pair("global_clipnorm", optimizer.has_global_clipnorm())}) {
    if (is_said) {
      return BadField(absl::StrCat(path, ".", field),
                      "is for jobs of one model; use \"clipvalue\"");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckObjective(const std::string& path, const proto::ModelObjective& objective,
                            const proto::Job& job, std::set<std::string>* trained) {
  if (objective.trains().empty()) {
    return BadField(path + ".trains",
                    "is missing: the objective trains nothing; say for example "
                    R"("trains": ["discriminator"])");
  }
  if (objective.losses().empty()) return BadField(path + ".losses", "is missing or empty");
  if (objective.losses_size() > kLossesMax) {
    return BadField(path + ".losses", "has ", objective.losses_size(), " losses; at most ",
                    kLossesMax, " are allowed");
  }
  CAIRN_RETURN_IF_ERROR(CheckOptimizer(path + ".optimizer", objective.optimizer()));
  CAIRN_RETURN_IF_ERROR(
      CheckRange(path + ".every", objective.has_every(), objective.every(), 1, kEveryMax));
  std::set<std::string> called;
  for (int i = 0; i < objective.losses_size(); ++i) {
    CAIRN_RETURN_IF_ERROR(
        CheckLoss(absl::StrCat(path, ".losses[", i, "]"), objective.losses(i), job, &called));
  }
  for (int i = 0; i < objective.trains_size(); ++i) {
    const std::string& model = objective.trains(i);
    const std::string at = absl::StrCat(path, ".trains[", i, "]");
    CAIRN_RETURN_IF_ERROR(CheckIsModel(at, model, job));
    if (!trained->insert(model).second) {
      return BadField(at, "'", model,
                      "' is trained twice; one objective trains a model, because "
                      "the state of its optimizer belongs to one");
    }
    if (!called.contains(model)) {
      return BadField(at, "no loss of this objective calls '", model, "'");
    }
  }
  return absl::OkStatus();
}

bool Calls(const ModelExpression& expression, const std::string& model) {
  return expression.model == model ||
         absl::c_any_of(expression.arguments,
                        [&](const ModelExpression& argument) { return Calls(argument, model); });
}

bool UsesData(const ModelExpression& expression) {
  return expression.kind == ModelExpression::Kind::kData ||
         absl::c_any_of(expression.arguments, UsesData);
}

bool CallsOnData(const ModelExpression& expression, const std::string& model) {
  return absl::c_any_of(expression.arguments, [&](const ModelExpression& argument) {
    const bool is_data = argument.kind == ModelExpression::Kind::kData;
    return (is_data && expression.model == model) || CallsOnData(argument, model);
  });
}

// Calls used(expression) for each loss; true if one call is.
template <typename Used>
bool AnyLoss(const proto::Job& job, const Used& used) {
  for (const proto::ModelObjective& objective : job.objectives()) {
    for (const proto::ModelLoss& loss : objective.losses()) {
      const auto expression = ParseModelExpression(loss.of());
      if (expression.ok() && used(*expression)) return true;
    }
  }
  return false;
}

}  // namespace

bool HasModels(const proto::Job& job) { return !job.models().empty() || !job.objectives().empty(); }

absl::Status CheckModelObjectives(const proto::Job& job) {
  CAIRN_RETURN_IF_ERROR(CheckOtherFields(job));
  CAIRN_RETURN_IF_ERROR(CheckModels(job));
  if (job.objectives().empty()) {
    return BadField("objectives", "is missing; it says by what \"models\" are trained");
  }
  if (job.objectives_size() > kObjectivesMax) {
    return BadField("objectives", "has ", job.objectives_size(), " objectives; at most ",
                    kObjectivesMax, " are allowed");
  }
  std::set<std::string> trained;
  std::set<std::string> names;
  for (int i = 0; i < job.objectives_size(); ++i) {
    const std::string path = absl::StrCat("objectives[", i, "]");
    CAIRN_RETURN_IF_ERROR(CheckObjective(path, job.objectives(i), job, &trained));
    const std::string name = ObjectiveName(job.objectives(i));
    if (!names.insert(name).second) {
      return BadField(path + ".name", "another objective is called '", name, "' already");
    }
  }
  for (const std::string& model : ModelNames(job)) {
    if (AnyLoss(job, [&](const ModelExpression& each) { return Calls(each, model); })) continue;
    return BadField(absl::StrCat("models.", model), "no loss calls this model");
  }
  if (AnyLoss(job, UsesData)) return absl::OkStatus();
  return BadField("objectives", "no loss uses data; write for example discriminator(data)");
}

std::string ObjectiveName(const proto::ModelObjective& objective) {
  return objective.name().empty() ? absl::StrJoin(objective.trains(), "_") : objective.name();
}

int ObjectiveOf(const proto::Job& job, const std::string& model) {
  for (int i = 0; i < job.objectives_size(); ++i) {
    if (absl::c_linear_search(job.objectives(i).trains(), model)) return i;
  }
  return -1;
}

bool TakesData(const proto::Job& job, const std::string& model) {
  return AnyLoss(job,
                 [&](const ModelExpression& expression) { return CallsOnData(expression, model); });
}

bool UsesLabels(const proto::Job& job) {
  return absl::c_any_of(job.objectives(), [](const proto::ModelObjective& objective) {
    return absl::c_any_of(objective.losses(), [](const proto::ModelLoss& loss) {
      return loss.target_array() == "labels";
    });
  });
}

}  // namespace cairn::job
