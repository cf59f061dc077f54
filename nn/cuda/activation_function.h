#ifndef CAIRN_NN_CUDA_ACTIVATION_FUNCTION_H_
#define CAIRN_NN_CUDA_ACTIVATION_FUNCTION_H_

#include <cstdint>

#include "nn/activation.h"
#include "nn/cuda/context.h"

namespace cairn::nn::cuda {

// y = activation(x + bias) for `rows` x `width` values; softmax is computed per row. A null bias
// means 0. y may equal x. If `sum` is not null, x + bias is written there; it may equal x, but not
// y.
void ApplyActivation(Context* context, const Activation& activation, int64_t rows, int64_t width,
                     const float* x, const float* bias, float* sum, float* y);

// to = gradient * the derivative of the activation at x, where y = activation(x). x is not read,
// and may be null, if activation.differentiates_from_output(). `to` may equal `gradient`. If `sums`
// is not null, the sum of each column of `to` is written there, which uses the scratch memory of
// SumColumns<1>.
void MultiplyByDerivative(Context* context, const Activation& activation, int64_t rows,
                          int64_t width, const float* x, const float* y, const float* gradient,
                          float* to, float* sums = nullptr);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_ACTIVATION_FUNCTION_H_
