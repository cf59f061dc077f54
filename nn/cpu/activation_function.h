#ifndef CAIRN_NN_CPU_ACTIVATION_FUNCTION_H_
#define CAIRN_NN_CPU_ACTIVATION_FUNCTION_H_

#include <cstdint>

#include "nn/activation.h"

namespace cairn::nn {

// y = activation(x) for `rows` x `width` values; softmax is computed per row. y may equal x.
void ApplyActivation(const Activation& activation, int64_t rows, int64_t width, const float* x,
                     float* y);

// gradient *= the derivative of the activation at x, where y = activation(x). x is not read, and
// may be null, if activation.differentiates_from_output().
void MultiplyByDerivative(const Activation& activation, int64_t rows, int64_t width, const float* x,
                          const float* y, float* gradient);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ACTIVATION_FUNCTION_H_
