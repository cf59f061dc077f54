#include "nn/losses/crossentropy.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "nn/losses/elementwise_loss.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

constexpr float kProbabilityMin = 1e-7f;
constexpr float kProbabilityMax = 1 - 1e-7f;

float Clipped(float probability) {
  return std::clamp(probability, kProbabilityMin, kProbabilityMax);
}

bool IsClipped(float probability) {
  return probability < kProbabilityMin || probability > kProbabilityMax;
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
  kProbabilities,  // positive numbers; normalized by their sum, then clipped
  kSoftmax,        // computed by a softmax; the gradient is with respect to its input
  kLogits,
};

template <typename Target>
float TargetSum(int64_t classes, const Target& target) {
  float sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += target(c);
  return sum;
}

// loss = - sum of target * log(output / sum of outputs). A clipped probability contributes no
// gradient; the normalization by the sum gives every output one.
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

// The outputs are a softmax's. Its derivative and the logarithm's cancel: the gradient is
// output * sum of targets - target, also where the clipped loss is flat.
template <typename Target>
double SoftmaxRow(const float* output, int64_t classes, const Target& target, float factor,
                  float* gradient) {
  double loss = 0;
  for (int64_t c = 0; c < classes; ++c) {
    if (target(c) != 0) loss -= static_cast<double>(target(c)) * std::log(Clipped(output[c]));
  }
  if (gradient == nullptr) return loss;
  const float target_sum = TargetSum(classes, target);
  for (int64_t c = 0; c < classes; ++c) {
    gradient[c] = factor * (output[c] * target_sum - target(c));
  }
  return loss;
}

// The outputs are logits. The maximum is subtracted so that no exponential overflows.
template <typename Target>
double LogitRow(const float* output, int64_t classes, const Target& target, float factor,
                float* gradient) {
  const float maximum = *std::max_element(output, output + classes);
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(output[c] - maximum);
  const double log_sum = std::log(sum) + maximum;
  double loss = 0;
  for (int64_t c = 0; c < classes; ++c) {
    if (target(c) != 0) loss += static_cast<double>(target(c)) * (log_sum - output[c]);
  }
  if (gradient == nullptr) return loss;
  const float target_sum = TargetSum(classes, target);
  for (int64_t c = 0; c < classes; ++c) {
    const float probability = static_cast<float>(std::exp(output[c] - log_sum));
    gradient[c] = factor * (probability * target_sum - target(c));
  }
  return loss;
}

template <typename Target>
double CrossentropyRow(Form form, const float* output, int64_t classes, const Target& target,
                       float factor, float* gradient) {
  switch (form) {
    case Form::kProbabilities:
      return ProbabilityRow(output, classes, target, factor, gradient);
    case Form::kSoftmax:
      return SoftmaxRow(output, classes, target, factor, gradient);
    case Form::kLogits:
      return LogitRow(output, classes, target, factor, gradient);
  }
  return 0;
}

// Categorical cross-entropy over the classes in the last axis; with `sparse` the labels are class
// labels.
class CategoricalCrossentropy : public Loss {
 public:
  CategoricalCrossentropy(bool sparse, bool from_logits, float smoothing)
      : Loss(sparse ? "sparse_categorical_crossentropy" : "categorical_crossentropy",
             sparse ? proto::INT32 : proto::FLOAT32),
        sparse_(sparse),
        from_logits_(from_logits),
        smoothing_(smoothing) {}

  absl::Status ValidateOutput(const Shape& output) const override {
    if (!output.empty() && output.back() >= 2) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "loss ", name(),
        " needs an output with at least 2 classes in its last axis, the model's is ",
        ShapeText(output), "; for one output with labels 0 and 1 say binary_crossentropy"));
  }

  absl::Status ValidateShapes(const Shape& output, const Shape& labels) const override {
    if (absl::Status status = ValidateOutput(output); !status.ok()) return status;
    const Shape wanted = sparse_ ? Shape(output.begin(), output.end() - 1) : output;
    const bool fits = labels == wanted || (sparse_ && WithoutLastOne(labels) == wanted);
    return fits ? absl::OkStatus() : LabelShapeError(name(), output, labels, wanted);
  }

  int64_t LabelCount(const Shape& output) const override {
    return sparse_ ? ElementCount(output) / output.back() : ElementCount(output);
  }

  Activation::Kind fused_activation() const override {
    return from_logits_ ? Activation::Kind::kLinear : Activation::Kind::kSoftmax;
  }

  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    const int64_t classes = batch.shape->back();
    const int64_t positions = ElementCount(*batch.shape) / classes;
    const float factor = GradientFactor(batch, positions);
    const Form form = from_logits_  ? Form::kLogits
                      : batch.fused ? Form::kSoftmax
                                    : Form::kProbabilities;
    double sum = 0;
    for (int64_t row = 0; row < batch.examples * positions; ++row) {
      const float* output = batch.output + row * classes;
      const float weight = batch.weight(row / positions);
      float* row_gradient = gradient == nullptr ? nullptr : gradient + row * classes;
      if (sparse_) {
        const int64_t label = static_cast<const int32_t*>(batch.labels)[row];
        if (label < 0 || label >= classes) return LabelError(label, classes);
        sum += weight * CrossentropyRow(form, output, classes, OneHotTarget{label}, factor * weight,
                                        row_gradient);
      } else {
        const float* labels = static_cast<const float*>(batch.labels) + row * classes;
        const GivenTarget target = {labels, 1 - smoothing_,
                                    smoothing_ / static_cast<float>(classes)};
        sum +=
            weight * CrossentropyRow(form, output, classes, target, factor * weight, row_gradient);
      }
    }
    return sum / static_cast<double>(positions);
  }

 private:
  absl::Status LabelError(int64_t label, int64_t classes) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "loss ", name(), ": label ", label, " is not one of the classes 0 to ", classes - 1));
  }

  const bool sparse_;
  const bool from_logits_;
  const float smoothing_;
};

struct BinaryDistance {
  bool from_logits = false;
  float smoothing = 0;
  bool fused = false;

  BinaryDistance For(const Loss::Batch& batch, int64_t) const {
    BinaryDistance distance = *this;
    distance.fused = batch.fused;
    return distance;
  }

  Activation::Kind fused_activation() const {
    return from_logits ? Activation::Kind::kLinear : Activation::Kind::kSigmoid;
  }

  double operator()(float output, float label, float* derivative) const {
    const float target = label * (1 - smoothing) + 0.5f * smoothing;
    return from_logits ? FromLogit(output, target, derivative)
                       : FromProbability(output, target, derivative);
  }

 private:
  static double FromLogit(float x, float target, float* derivative) {
    *derivative = 1.0f / (1.0f + std::exp(-x)) - target;
    return std::max(x, 0.0f) - x * target + std::log1p(std::exp(-std::fabs(x)));
  }

  double FromProbability(float output, float target, float* derivative) const {
    const float p = Clipped(output);
    if (fused) {
      *derivative = output - target;
    } else {
      *derivative = IsClipped(output) ? 0 : (p - target) / (p * (1 - p));
    }
    return -(target * std::log(p) + (1 - target) * std::log(1 - p));
  }
};

}  // namespace

std::unique_ptr<Loss> CreateSparseCategoricalCrossentropy(const proto::Loss& config) {
  return std::make_unique<CategoricalCrossentropy>(/*sparse=*/true, config.from_logits(),
                                                   /*smoothing=*/0);
}

std::unique_ptr<Loss> CreateCategoricalCrossentropy(const proto::Loss& config) {
  return std::make_unique<CategoricalCrossentropy>(/*sparse=*/false, config.from_logits(),
                                                   config.label_smoothing());
}

std::unique_ptr<Loss> CreateBinaryCrossentropy(const proto::Loss& config) {
  const BinaryDistance distance{config.from_logits(), static_cast<float>(config.label_smoothing())};
  return std::make_unique<ElementwiseLoss<BinaryDistance>>("binary_crossentropy", distance);
}

}  // namespace cairn::nn
