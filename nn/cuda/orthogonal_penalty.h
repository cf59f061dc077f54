#ifndef CAIRN_NN_CUDA_ORTHOGONAL_PENALTY_H_
#define CAIRN_NN_CUDA_ORTHOGONAL_PENALTY_H_

#include <cstddef>
#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/regularizer.h"

namespace cairn::nn::cuda {

// The penalty of OrthogonalRegularizer (nn/regularizer.h) of a matrix with `count` elements, on
// device memory. Uses the scratch memory, which must have OrthogonalScratchBytes.

size_t OrthogonalScratchBytes(const Regularizer& regularizer, int64_t count);
void OrthogonalPenalty(Context* context, const Regularizer& regularizer, int64_t count,
                       const float* values, double* penalty);
// Adds the derivative of the penalty to `gradient`.
void AddOrthogonalGradient(Context* context, const Regularizer& regularizer, int64_t count,
                           const float* values, float* gradient);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_ORTHOGONAL_PENALTY_H_
