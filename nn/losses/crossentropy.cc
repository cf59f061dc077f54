#include "nn/losses/crossentropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "nn/losses/elementwise_loss.h"
#include "nn/losses/row_loss.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

constexpr float kProbabilityMin = 1e-7f;
constexpr float kProbabilityMax = 1 - 1e-7f;
constexpr float kFloatMin = std::numeric_limits<float>::min();

float Clipped(float probability) {
  return std::clamp(probability, kProbabilityMin, kProbabilityMax);
}

bool IsClipped(float probability) {
  return probability < kProbabilityMin || probability > kProbabilityMax;
}

bool HasLogits(Activation::Kind activation) {
  return activation == Activation::Kind::kSoftmax || activation == Activation::Kind::kSigmoid;
}

// The crossentropy of the sigmoid of x, and its derivative, without overflow.
double SigmoidCrossentropy(float x, float target, float* derivative) {
  const float power = std::exp(-std::fabs(x));
  *derivative = (x < 0 ? power : 1.0f) / (1.0f + power) - target;
  return std::max(x, 0.0f) - x * target + std::log1p(power);
}

// The crossentropy of a probability, which has no gradient where it is clipped.
double ClippedCrossentropy(float output, float target, float* derivative) {
  const float p = Clipped(output);
  *derivative = IsClipped(output) ? 0 : (p - target) / (p * (1 - p));
  return -(target * std::log(p) + (1 - target) * std::log(1 - p));
}

// Target functors: the target of class c of one row, from a class label or from a vector.
struct OneHotTarget {
  int64_t label;
  float operator()(int64_t c) const { return c == label ? 1.0f : 0.0f; }
};
struct GivenTarget {
  const float* labels;
  float kept;   // factor of the given target: 1 - smoothing
  float added;  // smoothing / classes
  float operator()(int64_t c) const { return kept * labels[c] + added; }
};

enum class Form {
  kProbabilities,  // positive numbers
  kSoftmax,        // computed by a softmax of the logits
  kLogits,
};

template <typename Target>
float TargetSum(int64_t classes, const Target& target) {
  float sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += target(c);
  return sum;
}

// loss = - sum of target * log(output / sum of outputs), clipped. A clipped probability contributes
// no gradient; the normalization by the sum gives every output one.
template <typename Target>
double ProbabilityRow(const float* output, int64_t classes, const Target& target, float factor,
                      float* gradient) {
  float sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += output[c];
  double loss = 0;
  float unclipped_targets = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const float probability = output[c] / sum;
    if (target(c) != 0) loss -= static_cast<double>(target(c)) * std::log(Clipped(probability));
    const float live_target = IsClipped(probability) ? 0.0f : target(c);
    unclipped_targets += live_target;
    if (gradient != nullptr) gradient[c] = live_target == 0 ? 0 : -factor * live_target / output[c];
  }
  if (gradient == nullptr) return loss;
  for (int64_t c = 0; c < classes; ++c) gradient[c] += factor * unclipped_targets / sum;
  return loss;
}

// loss = log(sum of clipped outputs) - log(clipped output of the label): Keras clips the outputs
// before it normalizes them, if the label is a class label. A clipped output has no gradient.
double ClippedRow(const float* output, int64_t classes, int64_t label, float factor,
                  float* gradient) {
  float sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += Clipped(output[c]);
  for (int64_t c = 0; c < classes && gradient != nullptr; ++c) {
    const float slope = 1 / sum - (c == label ? 1 / output[c] : 0.0f);
    gradient[c] = IsClipped(output[c]) ? 0 : factor * slope;
  }
  return std::log(sum) - std::log(Clipped(output[label]));
}

// The logarithm of the softmax's output for class c, which may be too small for a float: then it is
// computed from that of the largest one.
double LogProbability(const float* output, const float* logits, int64_t classes, int64_t c) {
  if (output[c] >= kFloatMin) return std::log(output[c]);
  const int64_t largest = std::max_element(output, output + classes) - output;
  return std::log(output[largest]) + (static_cast<double>(logits[c]) - logits[largest]);
}

// The softmax's derivative and the logarithm's cancel: the gradient with respect to the logits is
// output * sum of targets - target.
template <typename Target>
double SoftmaxRow(const float* output, const float* logits, int64_t classes, const Target& target,
                  float factor, float* gradient) {
  double loss = 0;
  for (int64_t c = 0; c < classes; ++c) {
    if (target(c) == 0) continue;
    loss -= static_cast<double>(target(c)) * LogProbability(output, logits, classes, c);
  }
  if (gradient == nullptr) return loss;
  const float target_sum = TargetSum(classes, target);
  for (int64_t c = 0; c < classes; ++c) {
    gradient[c] = factor * (output[c] * target_sum - target(c));
  }
  return loss;
}

// The maximum is subtracted so that no exponential overflows.
template <typename Target>
double LogitRow(const float* logits, int64_t classes, const Target& target, float factor,
                float* gradient) {
  const float maximum = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - maximum);
  const double log_sum = std::log(sum) + maximum;
  double loss = 0;
  for (int64_t c = 0; c < classes; ++c) {
    if (target(c) != 0) loss += static_cast<double>(target(c)) * (log_sum - logits[c]);
  }
  if (gradient == nullptr) return loss;
  const float target_sum = TargetSum(classes, target);
  for (int64_t c = 0; c < classes; ++c) {
    const float probability = static_cast<float>(std::exp(logits[c] - log_sum));
    gradient[c] = factor * (probability * target_sum - target(c));
  }
  return loss;
}

template <typename Target>
double CrossentropyRow(Form form, const float* output, const float* logits, int64_t classes,
                       const Target& target, float factor, float* gradient) {
  switch (form) {
    case Form::kProbabilities:
      return ProbabilityRow(output, classes, target, factor, gradient);
    case Form::kSoftmax:
      return SoftmaxRow(output, logits, classes, target, factor, gradient);
    case Form::kLogits:
      return LogitRow(logits, classes, target, factor, gradient);
  }
  return 0;
}

// A loss over the classes in the last axis; with `sparse` the labels are class labels.
class CategoricalLoss : public Loss {
 public:
  absl::Status ValidateOutput(const Shape& output) const override {
    if (!output.empty() && output.back() >= 2) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "loss ", name(),
        " needs an output with at least 2 classes in its last axis, the model's is ",
        ShapeText(output), "; for one output with labels 0 and 1 say binary_crossentropy"));
  }

  absl::Status ValidateShapes(const Shape& output, const Shape& labels) const override {
    if (absl::Status status = ValidateOutput(output); !status.ok()) return status;
    const Shape wanted = sparse() ? Shape(output.begin(), output.end() - 1) : output;
    const bool fits = labels == wanted || (sparse() && WithoutLastOne(labels) == wanted);
    return fits ? absl::OkStatus() : LabelShapeError(name(), output, labels, wanted);
  }

  int64_t LabelCount(const Shape& output) const override {
    return sparse() ? ElementCount(output) / output.back() : ElementCount(output);
  }

 protected:
  using Loss::Loss;

  bool sparse() const { return label_type() == proto::INT32; }

  absl::Status LabelError(int64_t label, int64_t classes) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "loss ", name(), ": label ", label, " is not one of the classes 0 to ", classes - 1));
  }
};

class CategoricalCrossentropy final : public CategoricalLoss {
 public:
  CategoricalCrossentropy(bool sparse, const proto::Loss& config)
      : CategoricalLoss(sparse ? "sparse_categorical_crossentropy" : "categorical_crossentropy",
                        sparse ? proto::INT32 : proto::FLOAT32),
        from_logits_(config.from_logits()),
        smoothing_(static_cast<float>(config.label_smoothing())) {
    if (config.has_ignore_class()) ignored_ = config.ignore_class();
  }

  bool TakesLogitsOf(Activation::Kind activation) const override { return HasLogits(activation); }
  LossSpec spec() const override {
    return {.kind = LossSpec::Kind::kCategoricalCrossentropy,
            .from_logits = from_logits_,
            .label_smoothing = smoothing_,
            .has_ignored_class = ignored_.has_value(),
            .ignored_class = ignored_.value_or(0)};
  }

  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    const int64_t classes = batch.shape->back();
    const int64_t positions = ElementCount(*batch.shape) / classes;
    const double share = ignored_.has_value() ? ShareOf(batch, batch.examples * positions) : 1;
    const float factor = GradientFactor(batch, positions) * static_cast<float>(share);
    Form form = from_logits_ ? Form::kLogits : Form::kProbabilities;
    if (batch.logits != nullptr) form = batch.is_softmax ? Form::kSoftmax : Form::kLogits;
    const float* const all_logits = batch.logits != nullptr ? batch.logits : batch.output;
    double sum = 0;
    for (int64_t row = 0; row < batch.examples * positions; ++row) {
      const float* output = batch.output + row * classes;
      const float* logits = all_logits + row * classes;
      const float weight = batch.weight(row / positions);
      float* row_gradient = gradient == nullptr ? nullptr : gradient + row * classes;
      if (sparse()) {
        const int64_t label = static_cast<const int32_t*>(batch.labels)[row];
        if (ignored_ == label) {
          if (gradient != nullptr) std::fill_n(row_gradient, classes, 0.0f);
          continue;
        }
        if (label < 0 || label >= classes) return LabelError(label, classes);
        sum += weight * (form == Form::kProbabilities
                             ? ClippedRow(output, classes, label, factor * weight, row_gradient)
                             : CrossentropyRow(form, output, logits, classes, OneHotTarget{label},
                                               factor * weight, row_gradient));
      } else {
        const float* labels = static_cast<const float*>(batch.labels) + row * classes;
        const GivenTarget target = {labels, 1 - smoothing_,
                                    smoothing_ / static_cast<float>(classes)};
        sum += weight * CrossentropyRow(form, output, logits, classes, target, factor * weight,
                                        row_gradient);
      }
    }
    return share * sum / static_cast<double>(positions);
  }

 private:
  // The number of labels for each that is not ignored.
  double ShareOf(const Batch& batch, int64_t count) const {
    const int32_t* labels = static_cast<const int32_t*>(batch.labels);
    const int64_t ignored =
        std::count_if(labels, labels + count, [this](int32_t label) { return ignored_ == label; });
    return ignored == count ? 0 : static_cast<double>(count) / static_cast<double>(count - ignored);
  }

  const bool from_logits_;
  const float smoothing_;
  std::optional<int64_t> ignored_;
};

class GeneralizedCrossentropy final : public CategoricalLoss {
 public:
  explicit GeneralizedCrossentropy(double q)
      : CategoricalLoss("categorical_generalized_cross_entropy", proto::INT32), q_(q) {}

  LossSpec spec() const override {
    return {.kind = LossSpec::Kind::kGeneralizedCrossentropy, .q = q_};
  }

  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    const int64_t classes = batch.shape->back();
    const int64_t positions = ElementCount(*batch.shape) / classes;
    const float factor = GradientFactor(batch, positions);
    double sum = 0;
    for (int64_t row = 0; row < batch.examples * positions; ++row) {
      const int64_t label = static_cast<const int32_t*>(batch.labels)[row];
      if (label < 0 || label >= classes) return LabelError(label, classes);
      const float weight = batch.weight(row / positions);
      const double p = batch.output[row * classes + label];
      sum += weight * (1 - std::pow(p, q_)) / q_;
      if (gradient == nullptr) continue;
      float* row_gradient = gradient + row * classes;
      std::fill_n(row_gradient, classes, 0.0f);
      row_gradient[label] = static_cast<float>(-factor * weight * std::pow(p, q_ - 1));
    }
    return sum / static_cast<double>(positions);
  }

 private:
  const double q_;
};

struct FocalOptions {
  double alpha = 0.25;
  double gamma = 2;
  bool balances = false;
  bool from_logits = false;
  float smoothing = 0;

  explicit FocalOptions(const proto::Loss& config)
      : balances(config.apply_class_balancing()),
        from_logits(config.from_logits()),
        smoothing(static_cast<float>(config.label_smoothing())) {
    if (config.has_alpha()) alpha = config.alpha();
    if (config.has_gamma()) gamma = config.gamma();
  }

  LossSpec Spec(LossSpec::Kind kind) const {
    return {.kind = kind,
            .from_logits = from_logits,
            .label_smoothing = smoothing,
            .alpha = alpha,
            .gamma = gamma,
            .balances_classes = balances};
  }
};

// x^gamma and its derivative, which is 0 at 0 as the terms that it multiplies are.
double PowerSlope(double x, double gamma) { return x > 0 ? gamma * std::pow(x, gamma - 1) : 0; }

struct CategoricalFocalDistance {
  FocalOptions options;

  CategoricalFocalDistance For(const Loss::Batch&, int64_t) const { return *this; }
  LossSpec spec() const { return options.Spec(LossSpec::Kind::kCategoricalFocalCrossentropy); }

  double operator()(const float* output, const float* label, int64_t count, float factor,
                    float* gradient) const {
    const double maximum = options.from_logits ? *std::max_element(output, output + count) : 0;
    const auto raw = [&](int64_t c) {
      return options.from_logits ? std::exp(output[c] - maximum) : output[c];
    };
    double sum = 0;
    for (int64_t c = 0; c < count; ++c) sum += raw(c);
    double loss = 0, inner = 0;
    for (int64_t c = 0; c < count; ++c) {
      const float share = static_cast<float>(raw(c) / sum);
      const double p = Clipped(share);
      const double y =
          label[c] * (1 - options.smoothing) + options.smoothing / static_cast<float>(count);
      const double focus = std::pow(1 - p, options.gamma);
      loss -= options.alpha * focus * y * std::log(p);
      if (gradient == nullptr) continue;
      // With respect to the probability p; below, to the output that it is a share of.
      const double slope = PowerSlope(1 - p, options.gamma) * std::log(p) - focus / p;
      gradient[c] = IsClipped(share) ? 0 : static_cast<float>(options.alpha * y * slope);
      inner += gradient[c] * (raw(c) / sum);
    }
    for (int64_t c = 0; c < count && gradient != nullptr; ++c) {
      const double per_output = options.from_logits ? raw(c) / sum : 1 / sum;
      gradient[c] = static_cast<float>(factor * per_output * (gradient[c] - inner));
    }
    return loss;
  }
};

struct BinaryFocalDistance {
  FocalOptions options;

  bool TakesLogitsOf(Activation::Kind activation) const {
    return activation == Activation::Kind::kSigmoid && !options.from_logits;
  }
  BinaryFocalDistance For(const Loss::Batch& batch, int64_t) const {
    BinaryFocalDistance distance = *this;
    if (batch.logits != nullptr && TakesLogitsOf(batch.activation())) {
      distance.options.from_logits = true;
    }
    return distance;
  }
  LossSpec spec() const { return options.Spec(LossSpec::Kind::kBinaryFocalCrossentropy); }

  double operator()(float output, float label, float* derivative) const {
    const float target = label * (1 - options.smoothing) + 0.5f * options.smoothing;
    const double y = target;
    const double p =
        options.from_logits ? 1 / (1 + std::exp(-static_cast<double>(output))) : output;
    float entropy_slope = 0;
    const double entropy = options.from_logits
                               ? SigmoidCrossentropy(output, target, &entropy_slope)
                               : ClippedCrossentropy(output, target, &entropy_slope);
    const double wrong = std::max(1 - (y * p + (1 - y) * (1 - p)), 0.0);
    const double focus = std::pow(wrong, options.gamma);
    const double balance = options.balances ? y * options.alpha + (1 - y) * (1 - options.alpha) : 1;
    const double focus_slope =
        PowerSlope(wrong, options.gamma) * (1 - 2 * y) * (options.from_logits ? p * (1 - p) : 1);
    *derivative = static_cast<float>(balance * (focus * entropy_slope + entropy * focus_slope));
    return balance * focus * entropy;
  }
};

struct BinaryDistance {
  bool from_logits = false;
  float smoothing = 0;

  bool TakesLogitsOf(Activation::Kind activation) const { return HasLogits(activation); }
  BinaryDistance For(const Loss::Batch& batch, int64_t) const {
    return {.from_logits = from_logits || batch.logits != nullptr, .smoothing = smoothing};
  }

  LossSpec spec() const {
    return {.kind = LossSpec::Kind::kBinaryCrossentropy,
            .from_logits = from_logits,
            .label_smoothing = smoothing};
  }

  double operator()(float output, float label, float* derivative) const {
    const float target = label * (1 - smoothing) + 0.5f * smoothing;
    return from_logits ? SigmoidCrossentropy(output, target, derivative)
                       : ClippedCrossentropy(output, target, derivative);
  }
};

}  // namespace

std::unique_ptr<Loss> CreateSparseCategoricalCrossentropy(const proto::Loss& config) {
  return std::make_unique<CategoricalCrossentropy>(/*sparse=*/true, config);
}

std::unique_ptr<Loss> CreateCategoricalCrossentropy(const proto::Loss& config) {
  return std::make_unique<CategoricalCrossentropy>(/*sparse=*/false, config);
}

std::unique_ptr<Loss> CreateBinaryCrossentropy(const proto::Loss& config) {
  const BinaryDistance distance{config.from_logits(), static_cast<float>(config.label_smoothing())};
  return std::make_unique<ElementwiseLoss<BinaryDistance>>("binary_crossentropy", distance);
}

std::unique_ptr<Loss> CreateCategoricalFocalCrossentropy(const proto::Loss& config) {
  return std::make_unique<RowLoss<CategoricalFocalDistance>>(
      "categorical_focal_crossentropy", CategoricalFocalDistance{FocalOptions(config)});
}

std::unique_ptr<Loss> CreateBinaryFocalCrossentropy(const proto::Loss& config) {
  return std::make_unique<ElementwiseLoss<BinaryFocalDistance>>(
      "binary_focal_crossentropy", BinaryFocalDistance{FocalOptions(config)});
}

std::unique_ptr<Loss> CreateCategoricalGeneralizedCrossEntropy(const proto::Loss& config) {
  return std::make_unique<GeneralizedCrossentropy>(config.has_q() ? config.q() : 0.5);
}

}  // namespace cairn::nn
