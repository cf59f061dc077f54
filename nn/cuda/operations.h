#ifndef CAIRN_NN_CUDA_OPERATIONS_H_
#define CAIRN_NN_CUDA_OPERATIONS_H_

#include <cstdint>

#include "nn/cuda/context.h"

namespace cairn::nn::cuda {

// The operations of a Device that are not those of a layer (nn/device.h), on device memory.

void Add(Context* context, int64_t count, const float* addend, float* sum);
void Rescale(Context* context, int64_t count, float multiplier, float divisor, float* values);

// penalty = l1 * sum |value| + l2 * sum value^2. Uses the scratch memory, which must have
// kPenaltyScratchBytes.
constexpr size_t kPenaltyScratchBytes = 1024 * sizeof(double);
void Penalty(Context* context, double l1, double l2, int64_t count, const float* values,
             double* penalty);
// Adds the derivative of the penalty to `gradient`.
void AddPenaltyGradient(Context* context, double l1, double l2, int64_t count, const float* values,
                        float* gradient);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_OPERATIONS_H_
