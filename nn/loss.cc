#include "nn/loss.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/config_arguments.h"
#include "nn/keras_words.h"
#include "nn/losses/crossentropy.h"
#include "nn/losses/margin.h"
#include "nn/losses/overlap.h"
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
  const std::vector<std::string> focal = {"from_logits", "label_smoothing", "alpha", "gamma"};
  std::vector<std::string> binary_focal = focal;
  binary_focal.push_back("apply_class_balancing");
  return {
      {"sparse_categorical_crossentropy",
       {},
       {"from_logits", "ignore_class"},
       CreateSparseCategoricalCrossentropy},
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
      {"categorical_focal_crossentropy", {}, focal, CreateCategoricalFocalCrossentropy},
      {"binary_focal_crossentropy", {}, binary_focal, CreateBinaryFocalCrossentropy},
      {"categorical_generalized_cross_entropy",
       {},
       {"q"},
       CreateCategoricalGeneralizedCrossEntropy},
      {"dice", {}, {"axis"}, CreateDice},
      {"tversky", {}, {"alpha", "beta", "axis"}, CreateTversky},
      {"circle", {}, {"gamma", "margin"}, CreateCircle},
      {"wasserstein", {}, {}, CreateWasserstein},
  };
}

bool IsCalled(const KnownLoss& loss, const std::string& name) {
  return name == loss.name ||
         std::find(loss.aliases.begin(), loss.aliases.end(), name) != loss.aliases.end();
}

constexpr char kSum[] = "sum";

// The sum over examples and positions, in place of their mean. For losses that are means over the
// positions, of which the last axis of the output is not one.
class SummedLoss final : public Loss {
 public:
  explicit SummedLoss(std::unique_ptr<Loss> mean)
      : Loss(mean->name(), mean->label_type()), mean_(std::move(mean)) {}

  absl::Status ValidateOutput(const Shape& output) const override {
    return mean_->ValidateOutput(output);
  }
  absl::Status ValidateShapes(const Shape& output, const Shape& labels) const override {
    return mean_->ValidateShapes(output, labels);
  }
  int64_t LabelCount(const Shape& output) const override { return mean_->LabelCount(output); }
  LossSpec spec() const override {
    LossSpec spec = mean_->spec();
    spec.is_sum = true;
    return spec;
  }
  bool TakesLogitsOf(Activation::Kind activation) const override {
    return mean_->TakesLogitsOf(activation);
  }

  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    const int64_t positions =
        batch.shape->empty() ? 1 : ElementCount(*batch.shape) / batch.shape->back();
    Batch scaled = batch;
    // The gradient of the mean, which is divided by gradient_divisor, times the number of terms.
    scaled.gradient_scale *= static_cast<float>(positions * batch.examples);
    CAIRN_ASSIGN_OR_RETURN(const double sum, mean_->Compute(scaled, gradient));
    // A report divides by the number of examples.
    return sum * static_cast<double>(positions) * static_cast<double>(batch.examples);
  }

 private:
  const std::unique_ptr<Loss> mean_;
};

absl::Status CheckReduction(const proto::Loss& config, const KnownLoss& known) {
  const std::string& reduction = config.reduction();
  if (!config.has_reduction() || reduction == "sum_over_batch_size" || reduction == "mean") {
    return absl::OkStatus();
  }
  if (reduction != kSum) {
    return absl::InvalidArgumentError(
        absl::StrCat("'reduction' is '", reduction, "'; known: sum_over_batch_size, mean, sum"));
  }
  const std::string_view name = known.name;
  if (name == "dice" || name == "tversky" || name == "circle" || config.has_ignore_class()) {
    return absl::InvalidArgumentError(
        "'reduction' is 'sum'; it must be sum_over_batch_size with this loss, and with "
        "'ignore_class'");
  }
  return absl::OkStatus();
}

absl::Status CheckConfig(const proto::Loss& config, const KnownLoss& known) {
  std::vector<std::string> arguments = known.arguments;
  arguments.push_back("reduction");
  CAIRN_RETURN_IF_ERROR(CheckArguments(config, arguments));
  CAIRN_RETURN_IF_ERROR(CheckReduction(config, known));
  CAIRN_RETURN_IF_ERROR(CheckArgument("label_smoothing", config.label_smoothing(), {.largest = 1}));
  CAIRN_RETURN_IF_ERROR(CheckArgument("alpha", config.alpha(), {}));
  CAIRN_RETURN_IF_ERROR(CheckArgument("beta", config.beta(), {}));
  CAIRN_RETURN_IF_ERROR(CheckArgument("gamma", config.gamma(), {}));
  CAIRN_RETURN_IF_ERROR(CheckArgument("margin", config.margin(), {}));
  using enum ArgumentRange::Ends;
  if (config.has_q() && config.q() >= 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'q' is ", config.q(), "; it must be between 0 and 1"));
  }
  if (config.has_q()) {
    CAIRN_RETURN_IF_ERROR(CheckArgument("q", config.q(), {.largest = 1, .ends = kAboveSmallest}));
  }
  if (!config.has_delta()) return absl::OkStatus();
  return CheckArgument("delta", config.delta(), {.ends = kAboveSmallest});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loss>> CreateLoss(const proto::Loss& config) {
  for (const KnownLoss& known : KnownLosses()) {
    if (!IsCalled(known, SnakeCase(config.name()))) continue;
    if (absl::Status status = CheckConfig(config, known); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("loss ", known.name, ": ", std::string(status.message())));
    }
    std::unique_ptr<Loss> loss = known.create(config);
    if (config.reduction() != kSum) return loss;
    return std::make_unique<SummedLoss>(std::move(loss));
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
