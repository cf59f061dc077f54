#ifndef CAIRN_NN_CUDA_ACTIVATION_FORMULAS_H_
#define CAIRN_NN_CUDA_ACTIVATION_FORMULAS_H_

#include <cmath>

#include "nn/activation.h"
#include "nn/cuda/launch.h"

// The activations that work element by element, for device code. Only .cu files include this.

namespace cairn::nn::cuda {

constexpr float kSeluScale = 1.05070098735548049342f;
constexpr float kSeluAlpha = 1.67326324235437728482f;
constexpr float kSqrtHalf = 0.70710678118654752440f;
constexpr float kInverseSqrtTwoPi = 0.39894228040143267794f;
constexpr float kTwoOverSqrtPi = 1.12837916709551257390f;

__device__ inline float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
// The cumulative distribution function of the standard normal distribution.
__device__ inline float NormalCdf(float x) { return 0.5f * (1.0f + erff(x * kSqrtHalf)); }
__device__ inline float Elu(float x, float slope) { return x > 0 ? x : slope * expm1f(x); }
__device__ inline float Softplus(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }
// NaN stays NaN.
__device__ inline float Clamp(float x, float low, float high) {
  return x < low ? low : high < x ? high : x;
}

__device__ inline float Relu(const Activation& a, float x) {
  if (a.has_max_value && x >= a.max_value) return a.max_value;
  // Written so that NaN stays NaN.
  return x < a.threshold ? a.slope * (x - a.threshold) : x;
}

// The equal form for negative x does not cancel.
__device__ inline float Squareplus(float x) {
  const float root = sqrtf(x * x + 4);
  return x > 0 ? (x + root) / 2 : 2 / (root - x);
}

// activation(x), except for softmax and its logarithm, which need a row.
__device__ inline float Apply(const Activation& a, float x) {
  switch (a.kind) {
    case Activation::Kind::kRelu:
      return Relu(a, x);
    case Activation::Kind::kSigmoid:
      return Sigmoid(x);
    case Activation::Kind::kHardSigmoid:
      return Clamp(a.slope * x + 0.5f, 0.0f, 1.0f);
    case Activation::Kind::kTanh:
      return tanhf(x);
    case Activation::Kind::kSoftplus:
      return Softplus(x);
    case Activation::Kind::kSoftsign:
      return x / (1 + fabsf(x));
    case Activation::Kind::kElu:
      return Elu(x, a.slope);
    case Activation::Kind::kSelu:
      return kSeluScale * Elu(x, kSeluAlpha);
    case Activation::Kind::kGelu:
      return x * NormalCdf(x);
    case Activation::Kind::kSwish:
      return x * Sigmoid(x);
    case Activation::Kind::kExponential:
      return expf(x);
    case Activation::Kind::kHardSwish:
      return x * Clamp(x / 6 + 0.5f, 0.0f, 1.0f);
    case Activation::Kind::kHardTanh:
      return Clamp(x, -1.0f, 1.0f);
    case Activation::Kind::kHardShrink:
      return fabsf(x) <= 0.5f ? 0 : x;
    case Activation::Kind::kSoftShrink:
      return x - Clamp(x, -0.5f, 0.5f);
    case Activation::Kind::kLogSigmoid:
      return -Softplus(-x);
    case Activation::Kind::kMish:
      return x * tanhf(Softplus(x));
    case Activation::Kind::kSparsePlus:
      return x <= -1 ? 0 : x < 1 ? 0.25f * (x + 1) * (x + 1) : x;
    case Activation::Kind::kSquareplus:
      return Squareplus(x);
    case Activation::Kind::kTanhShrink:
      return x - tanhf(x);
    case Activation::Kind::kCos:
      return cosf(x);
    case Activation::Kind::kErf:
      return erff(x);
    case Activation::Kind::kFloor:
      return floorf(x);
    case Activation::Kind::kLog:
      return logf(x);
    case Activation::Kind::kReciprocal:
      return 1 / x;
    case Activation::Kind::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;  // NaN stays NaN.
    case Activation::Kind::kSin:
      return sinf(x);
    case Activation::Kind::kSqrt:
      return sqrtf(x);
    case Activation::Kind::kLinear:
    case Activation::Kind::kSoftmax:
    case Activation::Kind::kLogSoftmax:
      break;
  }
  return x;
}

__device__ inline float ReluDerivative(const Activation& a, float at) {
  if (a.has_max_value && at >= a.max_value) return 0;
  return at > a.threshold ? 1 : a.slope;
}

__device__ inline float MishDerivative(float x) {
  const float t = tanhf(Softplus(x));
  // Far from zero (1 - t^2) is 0, and x may be so large that its product with it is not.
  return t == 1 ? 1 : t + x * (1 - t * t) * Sigmoid(x);
}

// The derivative at x, where `at` is activation(x), or x itself unless
// a.differentiates_from_output().
__device__ inline float Derivative(const Activation& a, float at) {
  switch (a.kind) {
    case Activation::Kind::kRelu:
      return ReluDerivative(a, at);
    case Activation::Kind::kSigmoid:
      return at * (1 - at);
    case Activation::Kind::kHardSigmoid:
      return at > 0 && at < 1 ? a.slope : 0.0f;
    case Activation::Kind::kTanh:
      return 1 - at * at;
    case Activation::Kind::kSoftplus:
      return -expm1f(-at);
    case Activation::Kind::kSoftsign:
      return (1 - fabsf(at)) * (1 - fabsf(at));
    case Activation::Kind::kElu:
      return at > 0 ? 1 : at + a.slope;
    case Activation::Kind::kSelu:
      return at >= 0 ? kSeluScale : at + kSeluScale * kSeluAlpha;
    case Activation::Kind::kGelu:
      return NormalCdf(at) + at * kInverseSqrtTwoPi * expf(-0.5f * at * at);
    case Activation::Kind::kSwish:
      return Sigmoid(at) + at * Sigmoid(at) * (1 - Sigmoid(at));
    case Activation::Kind::kExponential:
      return at;
    case Activation::Kind::kHardSwish:
      return at <= -3 ? 0 : at >= 3 ? 1 : at / 3 + 0.5f;
    case Activation::Kind::kHardTanh:
      return fabsf(at) < 1 ? 1.0f : 0.0f;
    case Activation::Kind::kHardShrink:
    case Activation::Kind::kSoftShrink:
      return at != 0 ? 1.0f : 0.0f;
    case Activation::Kind::kLogSigmoid:
      return -expm1f(at);
    case Activation::Kind::kMish:
      return MishDerivative(at);
    case Activation::Kind::kSparsePlus:
      return at < 1 ? sqrtf(at) : 1;
    case Activation::Kind::kSquareplus:
      // With x = y - 1 / y.
      return 1 / (1 + 1 / (at * at));
    case Activation::Kind::kTanhShrink:
      return tanhf(at) * tanhf(at);
    case Activation::Kind::kCos:
      return -sinf(at);
    case Activation::Kind::kErf:
      return kTwoOverSqrtPi * expf(-at * at);
    case Activation::Kind::kLog:
      return expf(-at);
    case Activation::Kind::kReciprocal:
      return -at * at;
    case Activation::Kind::kFloor:
    case Activation::Kind::kSign:
      return 0;
    case Activation::Kind::kSin:
      return cosf(at);
    case Activation::Kind::kSqrt:
      return 0.5f / at;
    case Activation::Kind::kLinear:
    case Activation::Kind::kSoftmax:
    case Activation::Kind::kLogSoftmax:
      break;
  }
  return 1;
}

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_ACTIVATION_FORMULAS_H_
