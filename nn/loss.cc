#include "nn/loss.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "proto/job.pb.h"

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

// Without the last axis if it is 1: Keras adds and removes that one as needed.
Shape WithoutLastOne(Shape shape) {
  if (!shape.empty() && shape.back() == 1) shape.pop_back();
  return shape;
}

absl::Status ShapeError(const std::string& loss, const Shape& output, const Shape& labels,
                        const Shape& wanted) {
  return absl::InvalidArgumentError(absl::StrCat(
      "loss ", loss, ": labels of shape ", ShapeText(labels), " per example do not fit the output ",
      ShapeText(output), ", which wants ", ShapeText(wanted)));
}

// What the derivative of one element, or of one row of classes, is multiplied with.
float GradientFactor(const Loss::Batch& batch, int64_t terms_per_example) {
  const int64_t divisor = batch.gradient_divisor == 0 ? batch.examples : batch.gradient_divisor;
  return batch.gradient_scale / static_cast<float>(divisor * terms_per_example);
}

// The targets of a row of classes: 1 for one of them, or as the labels say.
struct OneHotTarget {
  int64_t label;
  float operator()(int64_t c) const { return c == label ? 1.0f : 0.0f; }
};
struct GivenTarget {
  const float* labels;
  float operator()(int64_t c) const { return labels[c]; }
};

enum class Form {
  kProbabilities,  // any positive numbers: divided by their sum, then clipped
  kSoftmax,        // made by softmax: the gradient goes to what it was applied to
  kLogits,
};

template <typename Target>
float TargetSum(int64_t classes, const Target& target) {
  float sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += target(c);
  return sum;
}

// loss = - sum of target * log(output / sum of outputs)
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

// Over the last axis, which is the classes.
class CategoricalCrossentropy : public Loss {
 public:
  CategoricalCrossentropy(bool sparse, bool from_logits)
      : Loss(sparse ? "sparse_categorical_crossentropy" : "categorical_crossentropy",
             sparse ? proto::INT32 : proto::FLOAT32),
        sparse_(sparse),
        from_logits_(from_logits) {}

  absl::Status ValidateShapes(const Shape& output, const Shape& labels) const override {
    if (output.empty() || output.back() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("loss ", name(), " needs an output with at least 2 classes in its last ",
                       "axis, the model's is ", ShapeText(output)));
    }
    const Shape wanted = sparse_ ? Shape(output.begin(), output.end() - 1) : output;
    const bool fits = labels == wanted || (sparse_ && WithoutLastOne(labels) == wanted);
    return fits ? absl::OkStatus() : ShapeError(name(), output, labels, wanted);
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
        sum += weight * CrossentropyRow(form, output, classes, GivenTarget{labels}, factor * weight,
                                        row_gradient);
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
};

// A distance of every output from its own label, averaged.
class ElementwiseLoss : public Loss {
 public:
  explicit ElementwiseLoss(std::string name) : Loss(std::move(name), proto::FLOAT32) {}

  absl::Status ValidateShapes(const Shape& output, const Shape& labels) const override {
    const bool fits = labels == output || WithoutLastOne(labels) == WithoutLastOne(output);
    return fits ? absl::OkStatus() : ShapeError(name(), output, labels, output);
  }
  int64_t LabelCount(const Shape& output) const override { return ElementCount(output); }

 protected:
  // `distance(output, label, &derivative)` returns one element's loss.
  template <typename Distance>
  static double Average(const Batch& batch, float* gradient, const Distance& distance) {
    const int64_t elements = ElementCount(*batch.shape);
    const float* labels = static_cast<const float*>(batch.labels);
    const float factor = GradientFactor(batch, elements);
    double sum = 0;
    for (int64_t example = 0; example < batch.examples; ++example) {
      const float weight = batch.weight(example);
      double example_sum = 0;
      for (int64_t i = example * elements; i < (example + 1) * elements; ++i) {
        float derivative = 0;
        example_sum += distance(batch.output[i], labels[i], &derivative);
        if (gradient != nullptr) gradient[i] = factor * weight * derivative;
      }
      sum += weight * example_sum;
    }
    return sum / static_cast<double>(elements);
  }
};

class BinaryCrossentropy : public ElementwiseLoss {
 public:
  explicit BinaryCrossentropy(bool from_logits)
      : ElementwiseLoss("binary_crossentropy"), from_logits_(from_logits) {}

  Activation::Kind fused_activation() const override {
    return from_logits_ ? Activation::Kind::kLinear : Activation::Kind::kSigmoid;
  }

  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    if (from_logits_) return Average(batch, gradient, FromLogit);
    return Average(batch, gradient, [&batch](float output, float label, float* derivative) {
      return FromProbability(output, label, batch.fused, derivative);
    });
  }

 private:
  static double FromLogit(float x, float label, float* derivative) {
    *derivative = 1.0f / (1.0f + std::exp(-x)) - label;
    return std::max(x, 0.0f) - x * label + std::log1p(std::exp(-std::fabs(x)));
  }

  static double FromProbability(float output, float label, bool fused, float* derivative) {
    const float p = Clipped(output);
    if (fused) {
      *derivative = output - label;
    } else {
      *derivative = IsClipped(output) ? 0 : (p - label) / (p * (1 - p));
    }
    return -(label * std::log(p) + (1 - label) * std::log(1 - p));
  }

  const bool from_logits_;
};

class MeanSquaredError : public ElementwiseLoss {
 public:
  MeanSquaredError() : ElementwiseLoss("mean_squared_error") {}
  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    return Average(batch, gradient, [](float output, float label, float* derivative) {
      const float difference = output - label;
      *derivative = 2 * difference;
      return static_cast<double>(difference) * difference;
    });
  }
};

class MeanAbsoluteError : public ElementwiseLoss {
 public:
  MeanAbsoluteError() : ElementwiseLoss("mean_absolute_error") {}
  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    return Average(batch, gradient, [](float output, float label, float* derivative) {
      const float difference = output - label;
      *derivative = static_cast<float>((difference > 0) - (difference < 0));
      return static_cast<double>(std::fabs(difference));
    });
  }
};

struct KnownLoss {
  const char* name;
  const char* alias;
  bool has_from_logits;
  std::unique_ptr<Loss> (*create)(bool from_logits);
};

const KnownLoss kKnownLosses[] = {
    {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy", true,
     [](bool logits) -> std::unique_ptr<Loss> {
       return std::make_unique<CategoricalCrossentropy>(/*sparse=*/true, logits);
     }},
    {"categorical_crossentropy", "CategoricalCrossentropy", true,
     [](bool logits) -> std::unique_ptr<Loss> {
       return std::make_unique<CategoricalCrossentropy>(/*sparse=*/false, logits);
     }},
    {"binary_crossentropy", "BinaryCrossentropy", true,
     [](bool logits) -> std::unique_ptr<Loss> {
       return std::make_unique<BinaryCrossentropy>(logits);
     }},
    {"mean_squared_error", "mse", false,
     [](bool) -> std::unique_ptr<Loss> { return std::make_unique<MeanSquaredError>(); }},
    {"mean_absolute_error", "mae", false,
     [](bool) -> std::unique_ptr<Loss> { return std::make_unique<MeanAbsoluteError>(); }},
};

}  // namespace

absl::StatusOr<std::unique_ptr<Loss>> CreateLoss(const proto::Loss& config) {
  std::string known_names;
  for (const KnownLoss& known : kKnownLosses) {
    absl::StrAppend(&known_names, known_names.empty() ? "" : ", ", known.name);
    if (config.name() != known.name && config.name() != known.alias) continue;
    if (config.has_from_logits() && !known.has_from_logits) {
      return absl::InvalidArgumentError(
          absl::StrCat("loss ", known.name, " has no argument 'from_logits'"));
    }
    return known.create(config.from_logits());
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown loss '", config.name(), "'; known: ", known_names));
}

}  // namespace cairn::nn
