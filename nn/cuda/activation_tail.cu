#include "nn/cuda/activation_function.h"
#include "nn/cuda/activation_tail.h"
#include "nn/cuda/column_sum.h"

namespace cairn::nn::cuda {

ActivationTail::ActivationTail(Context* context, const Activation& activation, int64_t rows,
                               int64_t width, bool training)
    : context_(context),
      activation_(activation),
      rows_(rows),
      width_(width),
      before_activation_(context,
                         training && !activation.differentiates_from_output() ? rows * width : 0) {
  if (training) ReserveForColumns(context, rows, width);
}

float* ActivationTail::Target(float* output, float* logits) const {
  if (logits != nullptr) return logits;
  return before_activation_.data() == nullptr ? output : before_activation_.data();
}

void ActivationTail::Forward(const float* bias, float* output, float* logits) {
  float* const product = Target(output, logits);
  if (bias == nullptr && activation_.kind == Activation::Kind::kLinear) return;
  ApplyActivation(context_, activation_, rows_, width_, product, bias,
                  logits != nullptr ? logits : before_activation_.data(), output);
}

void ActivationTail::Backward(const float* output, bool before_activation, float* gradient,
                              float* bias_gradient) {
  if (!before_activation && activation_.kind != Activation::Kind::kLinear) {
    return MultiplyByDerivative(context_, activation_, rows_, width_, before_activation_.data(),
                                output, gradient, gradient, bias_gradient);
  }
  if (bias_gradient != nullptr) AddUpColumns(context_, rows_, width_, gradient, bias_gradient);
}

}  // namespace cairn::nn::cuda
