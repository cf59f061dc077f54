#include "nn/loss.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/config_arguments.h"
#include "nn/keras_words.h"
#include "nn/losses/crossentropy.h"
#include "nn/losses/margin.h"
#include "nn/losses/regression.h"
#include "nn/losses/similarity.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

struct KnownLoss {
  const char* name;
  std::vector<std::string> aliases;
  std::vector<std::string> arguments;
  std::unique_ptr<Loss> (*create)(const proto::Loss&);
};

std::vector<KnownLoss> KnownLosses() {
  const std::vector<std::string> smoothed = {"from_logits", "label_smoothing"};
  return {
      {"sparse_categorical_crossentropy", {}, {"from_logits"}, CreateSparseCategoricalCrossentropy},
      {"categorical_crossentropy", {}, smoothed, CreateCategoricalCrossentropy},
      {"binary_crossentropy", {"bce"}, smoothed, CreateBinaryCrossentropy},
      {"mean_squared_error", {"mse"}, {}, CreateMeanSquaredError},
      {"mean_absolute_error", {"mae"}, {}, CreateMeanAbsoluteError},
      {"mean_absolute_percentage_error", {"mape"}, {}, CreateMeanAbsolutePercentageError},
      {"mean_squared_logarithmic_error", {"msle"}, {}, CreateMeanSquaredLogarithmicError},
      {"huber", {"huber_loss"}, {"delta"}, CreateHuber},
      {"log_cosh", {"logcosh"}, {}, CreateLogCosh},
      {"hinge", {}, {}, CreateHinge},
      {"squared_hinge", {}, {}, CreateSquaredHinge},
      {"categorical_hinge", {}, {}, CreateCategoricalHinge},
      {"kl_divergence",
       {"kullback_leibler_divergence", "kld", "kldivergence"},
       {},
       CreateKlDivergence},
      {"poisson", {}, {}, CreatePoisson},
      {"cosine_similarity", {}, {}, CreateCosineSimilarity},
  };
}

bool IsCalled(const KnownLoss& loss, const std::string& name) {
  return name == loss.name ||
         std::find(loss.aliases.begin(), loss.aliases.end(), name) != loss.aliases.end();
}

absl::Status CheckConfig(const proto::Loss& config, const KnownLoss& known) {
  CAIRN_RETURN_IF_ERROR(CheckArguments(config, known.arguments));
  CAIRN_RETURN_IF_ERROR(CheckArgument("label_smoothing", config.label_smoothing(), {.largest = 1}));
  if (!config.has_delta()) return absl::OkStatus();
  return CheckArgument("delta", config.delta(), {.ends = ArgumentRange::Ends::kAboveSmallest});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loss>> CreateLoss(const proto::Loss& config) {
  for (const KnownLoss& known : KnownLosses()) {
    if (!IsCalled(known, SnakeCase(config.name()))) continue;
    if (absl::Status status = CheckConfig(config, known); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("loss ", known.name, ": ", std::string(status.message())));
    }
    return known.create(config);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown loss '", config.name(), "'; ", UnknownNameText("loss", config.name(), LossNames())));
}

std::vector<std::string> LossNames() {
  std::vector<std::string> names;
  for (const KnownLoss& known : KnownLosses()) names.push_back(known.name);
  return names;
}

}  // namespace cairn::nn
