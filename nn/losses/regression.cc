#include "nn/losses/regression.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "nn/losses/elementwise_loss.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

using Kind = LossSpec::Kind;

constexpr float kEpsilon = 1e-7f;

float Sign(float x) { return static_cast<float>((x > 0) - (x < 0)); }

// A distance that does not depend on the batch.
template <typename Function>
struct Plain {
  LossSpec formula;
  Function function;

  Plain For(const Loss::Batch&, int64_t) const { return *this; }
  LossSpec spec() const { return formula; }
  double operator()(float output, float label, float* derivative) const {
    return function(output, label, derivative);
  }
};

template <typename Function>
std::unique_ptr<Loss> MakeLoss(const char* name, const LossSpec& spec, Function function) {
  return std::make_unique<ElementwiseLoss<Plain<Function>>>(name, Plain<Function>{spec, function});
}

}  // namespace

std::unique_ptr<Loss> CreateMeanSquaredError(const proto::Loss&) {
  return MakeLoss("mean_squared_error", {.kind = Kind::kMeanSquaredError},
                  [](float output, float label, float* derivative) {
                    const float difference = output - label;
                    *derivative = 2 * difference;
                    return static_cast<double>(difference) * difference;
                  });
}

std::unique_ptr<Loss> CreateMeanAbsoluteError(const proto::Loss&) {
  return MakeLoss("mean_absolute_error", {.kind = Kind::kMeanAbsoluteError},
                  [](float output, float label, float* derivative) {
                    const float difference = output - label;
                    *derivative = Sign(difference);
                    return static_cast<double>(std::fabs(difference));
                  });
}

std::unique_ptr<Loss> CreateMeanAbsolutePercentageError(const proto::Loss&) {
  return MakeLoss("mean_absolute_percentage_error", {.kind = Kind::kMeanAbsolutePercentageError},
                  [](float output, float label, float* derivative) {
                    const float unit = 100 / std::max(std::fabs(label), kEpsilon);
                    *derivative = unit * Sign(output - label);
                    return static_cast<double>(unit) * std::fabs(output - label);
                  });
}

std::unique_ptr<Loss> CreateMeanSquaredLogarithmicError(const proto::Loss&) {
  return MakeLoss("mean_squared_logarithmic_error", {.kind = Kind::kMeanSquaredLogarithmicError},
                  [](float output, float label, float* derivative) {
                    const float difference = std::log1p(std::max(output, kEpsilon)) -
                                             std::log1p(std::max(label, kEpsilon));
                    *derivative = output > kEpsilon ? 2 * difference / (output + 1) : 0;
                    return static_cast<double>(difference) * difference;
                  });
}

std::unique_ptr<Loss> CreateHuber(const proto::Loss& config) {
  const float delta = config.has_delta() ? static_cast<float>(config.delta()) : 1;
  return MakeLoss("huber", {.kind = Kind::kHuber, .delta = delta},
                  [delta](float output, float label, float* derivative) {
                    const float difference = output - label;
                    const double size = std::fabs(difference);
                    *derivative = std::clamp(difference, -delta, delta);
                    return size <= delta ? 0.5 * size * size : delta * size - 0.5 * delta * delta;
                  });
}

std::unique_ptr<Loss> CreateLogCosh(const proto::Loss&) {
  return MakeLoss("log_cosh", {.kind = Kind::kLogCosh},
                  [](float output, float label, float* derivative) {
                    const double difference = static_cast<double>(output) - label;
                    const double size = std::fabs(difference);
                    *derivative = static_cast<float>(std::tanh(difference));
                    // log cosh d = |d| + log(1 + exp(-2 |d|)) - log 2 does not overflow.
                    return size + std::log1p(std::exp(-2 * size)) - std::numbers::ln2;
                  });
}

std::unique_ptr<Loss> CreatePoisson(const proto::Loss&) {
  return MakeLoss("poisson", {.kind = Kind::kPoisson},
                  [](float output, float label, float* derivative) {
                    *derivative = 1 - label / (output + kEpsilon);
                    return output - static_cast<double>(label) * std::log(output + kEpsilon);
                  });
}

}  // namespace cairn::nn
