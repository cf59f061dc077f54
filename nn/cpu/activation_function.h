#ifndef CAIRN_NN_CPU_ACTIVATION_FUNCTION_H_
#define CAIRN_NN_CPU_ACTIVATION_FUNCTION_H_

#include <cstdint>

#include "nn/activation.h"

namespace cairn::nn {

// y = activation(x) for `rows` rows of `width` values; softmax works along rows. y may be x.
void ApplyActivation(const Activation& activation, int64_t rows, int64_t width, const float* x,
                     float* y);

// gradient *= the derivative at x, where y = activation(x). x is not looked at (and may be null) if
// activation.differentiates_from_output().
void MultiplyByDerivative(const Activation& activation, int64_t rows, int64_t width, const float* x,
                          const float* y, float* gradient);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ACTIVATION_FUNCTION_H_
