#include "nn/cpu/activation_function.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/simd.h"

namespace cairn::nn {
namespace {

using Kind = Activation::Kind;

constexpr float kSeluScale = 1.05070098735548049342f;
constexpr float kSeluAlpha = 1.67326324235437728482f;
constexpr float kSqrtHalf = 0.70710678118654752440f;
constexpr float kInverseSqrtTwoPi = 0.39894228040143267794f;
constexpr float kTwoOverSqrtPi = 1.12837916709551257390f;

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
// The cumulative distribution function of the standard normal distribution.
float NormalCdf(float x) { return 0.5f * (1.0f + std::erf(x * kSqrtHalf)); }

template <typename Function>
void ForEach(int64_t count, const float* x, float* y, const Function& function) {
  for (int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
}

template <typename Derivative>
void Multiply(int64_t count, const float* at, float* gradient, const Derivative& derivative) {
  for (int64_t i = 0; i < count; ++i) gradient[i] *= derivative(at[i]);
}

CAIRN_SIMD void PlainRelu(int64_t count, const float* x, float* y) {
  // Written so that NaN stays NaN.
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] < 0 ? 0 : x[i];
}

// Without a limit it is NaN: x >= NaN is false for every x.
float ReluLimit(const Activation& a) {
  return a.has_max_value ? a.max_value : std::numeric_limits<float>::quiet_NaN();
}

CAIRN_SIMD void GeneralRelu(int64_t count, float slope, float threshold, float limit,
                            const float* x, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const float bent = slope * (x[i] - threshold);
    const float value = x[i] >= threshold ? x[i] : bent;
    y[i] = x[i] >= limit ? limit : value;
  }
}

// `at` is x or, if the activation differentiates from its output, y. Both are on the same side of
// every threshold then.
CAIRN_SIMD void GeneralReluGradient(int64_t count, float slope, float threshold, float limit,
                                    const float* at, float* gradient) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const float bent = gradient[i] * slope;
    const float value = at[i] > threshold ? gradient[i] : bent;
    gradient[i] = at[i] >= limit ? 0 : value;
  }
}

CAIRN_SIMD void PlainReluGradient(int64_t count, const float* y, float* gradient) {
  for (int64_t i = 0; i < count; ++i) gradient[i] = y[i] > 0 ? gradient[i] : 0;
}

void Softmax(int64_t rows, int64_t width, const float* x, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
    const float maximum = *std::max_element(x, x + width);
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) {
      y[i] = std::exp(x[i] - maximum);
      sum += y[i];
    }
    const float scale = static_cast<float>(1 / sum);
    for (int64_t i = 0; i < width; ++i) y[i] *= scale;
  }
}

void SoftmaxGradient(int64_t rows, int64_t width, const float* y, float* gradient) {
  for (int64_t row = 0; row < rows; ++row, y += width, gradient += width) {
    double inner = 0;
    for (int64_t i = 0; i < width; ++i) inner += static_cast<double>(gradient[i]) * y[i];
    const float mean = static_cast<float>(inner);
    for (int64_t i = 0; i < width; ++i) gradient[i] = y[i] * (gradient[i] - mean);
  }
}

void LogSoftmax(int64_t rows, int64_t width, const float* x, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
    const float maximum = *std::max_element(x, x + width);
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += std::exp(x[i] - maximum);
    const float log_sum = static_cast<float>(std::log(sum));
    for (int64_t i = 0; i < width; ++i) y[i] = x[i] - maximum - log_sum;
  }
}

void LogSoftmaxGradient(int64_t rows, int64_t width, const float* y, float* gradient) {
  for (int64_t row = 0; row < rows; ++row, y += width, gradient += width) {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += gradient[i];
    const float total = static_cast<float>(sum);
    for (int64_t i = 0; i < width; ++i) gradient[i] -= std::exp(y[i]) * total;
  }
}

float GeluDerivative(float x) {
  return NormalCdf(x) + x * kInverseSqrtTwoPi * std::exp(-0.5f * x * x);
}

float ErfDerivative(float x) { return kTwoOverSqrtPi * std::exp(-x * x); }

float SwishDerivative(float x) {
  const float s = Sigmoid(x);
  return s + x * s * (1 - s);
}

float Elu(float x, float slope) { return x > 0 ? x : slope * std::expm1(x); }

float Softplus(float x) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); }

float HardSwishDerivative(float x) { return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5f; }

float MishDerivative(float x) {
  const float t = std::tanh(Softplus(x));
  // Far from zero (1 - t^2) is 0, and x may be so large that its product with it is not.
  return t == 1 ? 1 : t + x * (1 - t * t) * Sigmoid(x);
}

float SparsePlus(float x) { return x <= -1 ? 0 : x < 1 ? 0.25f * (x + 1) * (x + 1) : x; }

// NaN stays NaN.
float Sign(float x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

// The equal form for negative x does not cancel.
float Squareplus(float x) {
  const float root = std::sqrt(x * x + 4);
  return x > 0 ? (x + root) / 2 : 2 / (root - x);
}

}  // namespace

void ApplyActivation(const Activation& a, int64_t rows, int64_t width, const float* x, float* y) {
  const int64_t n = rows * width;
  switch (a.kind) {
    case Kind::kLinear:
      if (x != y) std::memcpy(y, x, n * sizeof(float));
      return;
    case Kind::kRelu:
      if (a.is_plain_relu()) return PlainRelu(n, x, y);
      return GeneralRelu(n, a.slope, a.threshold, ReluLimit(a), x, y);
    case Kind::kSigmoid:
      return ForEach(n, x, y, Sigmoid);
    case Kind::kHardSigmoid:
      return ForEach(n, x, y, [&a](float v) { return std::clamp(a.slope * v + 0.5f, 0.0f, 1.0f); });
    case Kind::kTanh:
      return ForEach(n, x, y, [](float v) { return std::tanh(v); });
    case Kind::kSoftmax:
      return Softmax(rows, width, x, y);
    case Kind::kSoftplus:
      return ForEach(n, x, y, Softplus);
    case Kind::kSoftsign:
      return ForEach(n, x, y, [](float v) { return v / (1 + std::fabs(v)); });
    case Kind::kElu:
      return ForEach(n, x, y, [&a](float v) { return Elu(v, a.slope); });
    case Kind::kSelu:
      return ForEach(n, x, y, [](float v) { return kSeluScale * Elu(v, kSeluAlpha); });
    case Kind::kGelu:
      return ForEach(n, x, y, [](float v) { return v * NormalCdf(v); });
    case Kind::kSwish:
      return ForEach(n, x, y, [](float v) { return v * Sigmoid(v); });
    case Kind::kExponential:
      return ForEach(n, x, y, [](float v) { return std::exp(v); });
    case Kind::kHardSwish:
      return ForEach(n, x, y, [](float v) { return v * std::clamp(v / 6 + 0.5f, 0.0f, 1.0f); });
    case Kind::kHardTanh:
      return ForEach(n, x, y, [](float v) { return std::clamp(v, -1.0f, 1.0f); });
    case Kind::kHardShrink:
      return ForEach(n, x, y, [](float v) { return std::fabs(v) <= 0.5f ? 0 : v; });
    case Kind::kSoftShrink:
      return ForEach(n, x, y, [](float v) { return v - std::clamp(v, -0.5f, 0.5f); });
    case Kind::kLogSigmoid:
      return ForEach(n, x, y, [](float v) { return -Softplus(-v); });
    case Kind::kLogSoftmax:
      return LogSoftmax(rows, width, x, y);
    case Kind::kMish:
      return ForEach(n, x, y, [](float v) { return v * std::tanh(Softplus(v)); });
    case Kind::kSparsePlus:
      return ForEach(n, x, y, SparsePlus);
    case Kind::kSquareplus:
      return ForEach(n, x, y, Squareplus);
    case Kind::kTanhShrink:
      return ForEach(n, x, y, [](float v) { return v - std::tanh(v); });
    case Kind::kCos:
      return ForEach(n, x, y, [](float v) { return std::cos(v); });
    case Kind::kErf:
      return ForEach(n, x, y, [](float v) { return std::erf(v); });
    case Kind::kFloor:
      return ForEach(n, x, y, [](float v) { return std::floor(v); });
    case Kind::kLog:
      return ForEach(n, x, y, [](float v) { return std::log(v); });
    case Kind::kReciprocal:
      return ForEach(n, x, y, [](float v) { return 1 / v; });
    case Kind::kSign:
      return ForEach(n, x, y, Sign);
    case Kind::kSin:
      return ForEach(n, x, y, [](float v) { return std::sin(v); });
    case Kind::kSqrt:
      return ForEach(n, x, y, [](float v) { return std::sqrt(v); });
  }
}

void MultiplyByDerivative(const Activation& a, int64_t rows, int64_t width, const float* x,
                          const float* y, float* gradient) {
  const int64_t n = rows * width;
  switch (a.kind) {
    case Kind::kLinear:
      return;
    case Kind::kRelu:
      if (a.is_plain_relu()) return PlainReluGradient(n, y, gradient);
      return GeneralReluGradient(n, a.slope, a.threshold, ReluLimit(a),
                                 a.differentiates_from_output() ? y : x, gradient);
    case Kind::kSigmoid:
      return Multiply(n, y, gradient, [](float v) { return v * (1 - v); });
    case Kind::kHardSigmoid:
      return Multiply(n, y, gradient, [&a](float v) { return v > 0 && v < 1 ? a.slope : 0.0f; });
    case Kind::kTanh:
      return Multiply(n, y, gradient, [](float v) { return 1 - v * v; });
    case Kind::kSoftmax:
      return SoftmaxGradient(rows, width, y, gradient);
    case Kind::kSoftplus:
      return Multiply(n, y, gradient, [](float v) { return -std::expm1(-v); });
    case Kind::kSoftsign:
      return Multiply(n, y, gradient,
                      [](float v) { return (1 - std::fabs(v)) * (1 - std::fabs(v)); });
    case Kind::kElu:
      return Multiply(n, y, gradient, [&a](float v) { return v > 0 ? 1 : v + a.slope; });
    case Kind::kSelu:
      // At 0 that of the upper branch, as in TensorFlow.
      return Multiply(n, y, gradient,
                      [](float v) { return v >= 0 ? kSeluScale : v + kSeluScale * kSeluAlpha; });
    case Kind::kGelu:
      return Multiply(n, x, gradient, GeluDerivative);
    case Kind::kSwish:
      return Multiply(n, x, gradient, SwishDerivative);
    case Kind::kExponential:
      return Multiply(n, y, gradient, [](float v) { return v; });
    case Kind::kHardSwish:
      return Multiply(n, x, gradient, HardSwishDerivative);
    case Kind::kHardTanh:
      return Multiply(n, y, gradient, [](float v) { return std::fabs(v) < 1 ? 1.0f : 0.0f; });
    case Kind::kHardShrink:
    case Kind::kSoftShrink:
      return Multiply(n, y, gradient, [](float v) { return v != 0 ? 1.0f : 0.0f; });
    case Kind::kLogSigmoid:
      return Multiply(n, y, gradient, [](float v) { return -std::expm1(v); });
    case Kind::kLogSoftmax:
      return LogSoftmaxGradient(rows, width, y, gradient);
    case Kind::kMish:
      return Multiply(n, x, gradient, MishDerivative);
    case Kind::kSparsePlus:
      return Multiply(n, y, gradient, [](float v) { return v < 1 ? std::sqrt(v) : 1; });
    case Kind::kSquareplus:
      // With x = y - 1 / y.
      return Multiply(n, y, gradient, [](float v) { return 1 / (1 + 1 / (v * v)); });
    case Kind::kTanhShrink:
      return Multiply(n, x, gradient, [](float v) { return std::tanh(v) * std::tanh(v); });
    case Kind::kCos:
      return Multiply(n, x, gradient, [](float v) { return -std::sin(v); });
    case Kind::kErf:
      return Multiply(n, x, gradient, ErfDerivative);
    case Kind::kLog:
      return Multiply(n, y, gradient, [](float v) { return std::exp(-v); });
    case Kind::kReciprocal:
      return Multiply(n, y, gradient, [](float v) { return -v * v; });
    case Kind::kFloor:
    case Kind::kSign:
      return Multiply(n, y, gradient, [](float) { return 0.0f; });
    case Kind::kSin:
      return Multiply(n, x, gradient, [](float v) { return std::cos(v); });
    case Kind::kSqrt:
      return Multiply(n, y, gradient, [](float v) { return 0.5f / v; });
  }
}

}  // namespace cairn::nn
