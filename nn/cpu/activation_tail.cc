#include "nn/cpu/activation_tail.h"

#include "common/simd.h"
#include "nn/cpu/activation_function.h"
#include "nn/cpu/column_sum.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void AddToRows(int64_t rows, int64_t width, const float* addend, float* values) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < width; ++c) values[row * width + c] += addend[c];
  }
}

}  // namespace

ActivationTail::ActivationTail(const Activation& activation, int64_t rows, int64_t width,
                               bool training)
    : activation_(activation), rows_(rows), width_(width) {
  if (!training) return;
  column_sums_ = AlignedBuffer<double>(width);
  if (!activation.differentiates_from_output()) {
    before_activation_ = AlignedBuffer<float>(rows * width);
  }
}

float* ActivationTail::Target(float* output) const {
  return before_activation_.get() == nullptr ? output : before_activation_.get();
}

void ActivationTail::Forward(const float* bias, float* output) {
  float* products = Target(output);
  if (bias != nullptr) AddToRows(rows_, width_, bias, products);
  ApplyActivation(activation_, rows_, width_, products, output);
}

void ActivationTail::Backward(const float* output, bool before_activation, float* gradient) const {
  if (before_activation) return;
  MultiplyByDerivative(activation_, rows_, width_, before_activation_.get(), output, gradient);
}

void ActivationTail::BiasGradient(const float* gradient, float* bias_gradient) {
  SumColumns(rows_, width_, gradient, column_sums_.get(), bias_gradient);
}

}  // namespace cairn::nn
