#include "nn/cuda/activation_function.h"
#include "nn/cuda/activation_tail.h"
#include "nn/cuda/column_sum.h"
#include "nn/cuda/operations.h"

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

void ActivationTail::Backward(const BackwardArguments& arguments, float* gradient,
                              float* bias_gradient) {
  const float* const by_logits = arguments.logits_gradient;
  if (!arguments.before_activation && activation_.kind != Activation::Kind::kLinear) {
    MultiplyByDerivative(context_, activation_, rows_, width_, before_activation_.data(),
                         arguments.output, gradient, gradient,
                         by_logits == nullptr ? bias_gradient : nullptr);
    if (by_logits == nullptr) return;
    Add(context_, rows_ * width_, by_logits, gradient);
  }
  if (bias_gradient != nullptr) AddUpColumns(context_, rows_, width_, gradient, bias_gradient);
}

}  // namespace cairn::nn::cuda
