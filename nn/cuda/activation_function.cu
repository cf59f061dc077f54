#include "nn/cuda/activation_function.h"
#include "nn/cuda/loops.h"

namespace cairn::nn::cuda {
namespace {

using Kind = Activation::Kind;

constexpr float kSeluScale = 1.05070098735548049342f;
constexpr float kSeluAlpha = 1.67326324235437728482f;
constexpr float kSqrtHalf = 0.70710678118654752440f;
constexpr float kInverseSqrtTwoPi = 0.39894228040143267794f;

__device__ float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
// The cumulative distribution function of the standard normal distribution.
__device__ float NormalCdf(float x) { return 0.5f * (1.0f + erff(x * kSqrtHalf)); }
__device__ float Elu(float x, float slope) { return x > 0 ? x : slope * expm1f(x); }
__device__ float Softplus(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }
__device__ float Clamp(float x, float low, float high) { return fminf(fmaxf(x, low), high); }

__device__ float Relu(const Activation& a, float x) {
  if (a.has_max_value && x >= a.max_value) return a.max_value;
  // Written so that NaN stays NaN.
  return x < a.threshold ? a.slope * (x - a.threshold) : x;
}

// The equal form for negative x does not cancel.
__device__ float Squareplus(float x) {
  const float root = sqrtf(x * x + 4);
  return x > 0 ? (x + root) / 2 : 2 / (root - x);
}

// The activations that work element by element.
__device__ float Apply(const Activation& a, float x) {
  switch (a.kind) {
    case Kind::kRelu:
      return Relu(a, x);
    case Kind::kSigmoid:
      return Sigmoid(x);
    case Kind::kHardSigmoid:
      return Clamp(a.slope * x + 0.5f, 0.0f, 1.0f);
    case Kind::kTanh:
      return tanhf(x);
    case Kind::kSoftplus:
      return Softplus(x);
    case Kind::kSoftsign:
      return x / (1 + fabsf(x));
    case Kind::kElu:
      return Elu(x, a.slope);
    case Kind::kSelu:
      return kSeluScale * Elu(x, kSeluAlpha);
    case Kind::kGelu:
      return x * NormalCdf(x);
    case Kind::kSwish:
      return x * Sigmoid(x);
    case Kind::kExponential:
      return expf(x);
    case Kind::kHardSwish:
      return x * Clamp(x / 6 + 0.5f, 0.0f, 1.0f);
    case Kind::kHardTanh:
      return Clamp(x, -1.0f, 1.0f);
    case Kind::kHardShrink:
      return fabsf(x) <= 0.5f ? 0 : x;
    case Kind::kSoftShrink:
      return x - Clamp(x, -0.5f, 0.5f);
    case Kind::kLogSigmoid:
      return -Softplus(-x);
    case Kind::kMish:
      return x * tanhf(Softplus(x));
    case Kind::kSparsePlus:
      return x <= -1 ? 0 : x < 1 ? 0.25f * (x + 1) * (x + 1) : x;
    case Kind::kSquareplus:
      return Squareplus(x);
    case Kind::kTanhShrink:
      return x - tanhf(x);
    case Kind::kCos:
      return cosf(x);
    case Kind::kLog:
      return logf(x);
    case Kind::kReciprocal:
      return 1 / x;
    case Kind::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;  // NaN stays NaN.
    case Kind::kSin:
      return sinf(x);
    case Kind::kSqrt:
      return sqrtf(x);
    case Kind::kLinear:
    case Kind::kSoftmax:
    case Kind::kLogSoftmax:
      break;
  }
  return x;
}

__device__ float ReluDerivative(const Activation& a, float at) {
  if (a.has_max_value && at >= a.max_value) return 0;
  return at > a.threshold ? 1 : a.slope;
}

__device__ float MishDerivative(float x) {
  const float t = tanhf(Softplus(x));
  // Far from zero (1 - t^2) is 0, and x may be so large that its product with it is not.
  return t == 1 ? 1 : t + x * (1 - t * t) * Sigmoid(x);
}

// `at` is y, or x if the derivative needs it.
__device__ float Derivative(const Activation& a, float at) {
  switch (a.kind) {
    case Kind::kRelu:
      return ReluDerivative(a, at);
    case Kind::kSigmoid:
      return at * (1 - at);
    case Kind::kHardSigmoid:
      return at > 0 && at < 1 ? a.slope : 0.0f;
    case Kind::kTanh:
      return 1 - at * at;
    case Kind::kSoftplus:
      return -expm1f(-at);
    case Kind::kSoftsign:
      return (1 - fabsf(at)) * (1 - fabsf(at));
    case Kind::kElu:
      return at > 0 ? 1 : at + a.slope;
    case Kind::kSelu:
      return at > 0 ? kSeluScale : at + kSeluScale * kSeluAlpha;
    case Kind::kGelu:
      return NormalCdf(at) + at * kInverseSqrtTwoPi * expf(-0.5f * at * at);
    case Kind::kSwish:
      return Sigmoid(at) + at * Sigmoid(at) * (1 - Sigmoid(at));
    case Kind::kExponential:
      return at;
    case Kind::kHardSwish:
      return at <= -3 ? 0 : at >= 3 ? 1 : at / 3 + 0.5f;
    case Kind::kHardTanh:
      return fabsf(at) < 1 ? 1.0f : 0.0f;
    case Kind::kHardShrink:
    case Kind::kSoftShrink:
      return at != 0 ? 1.0f : 0.0f;
    case Kind::kLogSigmoid:
      return -expm1f(at);
    case Kind::kMish:
      return MishDerivative(at);
    case Kind::kSparsePlus:
      return at < 1 ? sqrtf(at) : 1;
    case Kind::kSquareplus:
      // With x = y - 1 / y.
      return 1 / (1 + 1 / (at * at));
    case Kind::kTanhShrink:
      return tanhf(at) * tanhf(at);
    case Kind::kCos:
      return -sinf(at);
    case Kind::kLog:
      return expf(-at);
    case Kind::kReciprocal:
      return -at * at;
    case Kind::kSign:
      return 0;
    case Kind::kSin:
      return cosf(at);
    case Kind::kSqrt:
      return 0.5f / at;
    case Kind::kLinear:
    case Kind::kSoftmax:
    case Kind::kLogSoftmax:
      break;
  }
  return 1;
}

void Softmax(Context* context, bool is_log, int64_t rows, int64_t width, const float* x,
             const float* bias, float* y) {
  ForEachRow(context, rows, width, [=] __device__(int64_t row, const RowBlock& block) {
    const float* from = x + row * width;
    float* const to = y + row * width;
    if (bias != nullptr) {
      // Each thread reads again only what it has written.
      for (int64_t i = block.first(); i < width; i += block.step()) to[i] = from[i] + bias[i];
      from = to;
    }
    double maximum = -std::numeric_limits<double>::infinity();
    for (int64_t i = block.first(); i < width; i += block.step()) {
      maximum = fmax(maximum, static_cast<double>(from[i]));
    }
    const float highest = static_cast<float>(block.Maximum(maximum));
    double sum = 0;
    for (int64_t i = block.first(); i < width; i += block.step()) sum += expf(from[i] - highest);
    sum = block.Sum(sum);
    const float log_sum = static_cast<float>(log(sum));
    const float scale = static_cast<float>(1 / sum);
    for (int64_t i = block.first(); i < width; i += block.step()) {
      to[i] = is_log ? from[i] - highest - log_sum : expf(from[i] - highest) * scale;
    }
  });
}

// Of softmax: y * (g - sum of g y). Of its logarithm: g - exp(y) * sum of g.
void SoftmaxGradient(Context* context, bool is_log, int64_t rows, int64_t width, const float* y,
                     const float* gradient, float* to) {
  ForEachRow(context, rows, width, [=] __device__(int64_t row, const RowBlock& block) {
    const int64_t begin = row * width;
    double inner = 0;
    for (int64_t i = block.first(); i < width; i += block.step()) {
      const double g = gradient[begin + i];
      inner += is_log ? g : g * y[begin + i];
    }
    const float sum = static_cast<float>(block.Sum(inner));
    for (int64_t i = begin + block.first(); i < begin + width; i += block.step()) {
      to[i] = is_log ? gradient[i] - expf(y[i]) * sum : y[i] * (gradient[i] - sum);
    }
  });
}

}  // namespace

void ApplyActivation(Context* context, const Activation& activation, int64_t rows, int64_t width,
                     const float* x, const float* bias, float* sum, float* y) {
  if (activation.is_row_wise()) {
    return Softmax(context, activation.kind == Kind::kLogSoftmax, rows, width, x, bias, y);
  }
  ForEach(context, rows * width, [=] __device__(int64_t i) {
    const float value = bias == nullptr ? x[i] : x[i] + bias[i % width];
    if (sum != nullptr) sum[i] = value;
    y[i] = Apply(activation, value);
  });
}

void MultiplyByDerivative(Context* context, const Activation& activation, int64_t rows,
                          int64_t width, const float* x, const float* y, const float* gradient,
                          float* to, float* sums) {
  const float* const at = activation.differentiates_from_output() ? y : x;
  if (activation.is_row_wise()) {
    SoftmaxGradient(context, activation.kind == Kind::kLogSoftmax, rows, width, y, gradient, to);
    if (sums != nullptr) {
      // The derivative of the linear activation is 1.
      MultiplyByDerivative(context, Activation(), rows, width, to, to, to, to, sums);
    }
  } else if (sums == nullptr) {
    ForEach(context, rows * width,
            [=] __device__(int64_t i) { to[i] = gradient[i] * Derivative(activation, at[i]); });
  } else {
    SumColumns<1>(
        context, rows, width,
        [=] __device__(int64_t row, int64_t column, ColumnSums<1> * terms) {
          const int64_t i = row * width + column;
          const float product = gradient[i] * Derivative(activation, at[i]);
          to[i] = product;
          terms->values[0] += product;
        },
        [=] __device__(int64_t column, const ColumnSums<1>& totals) {
          sums[column] = static_cast<float>(totals.values[0]);
        });
  }
}

}  // namespace cairn::nn::cuda
