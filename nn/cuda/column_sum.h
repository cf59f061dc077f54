#ifndef CAIRN_NN_CUDA_COLUMN_SUM_H_
#define CAIRN_NN_CUDA_COLUMN_SUM_H_

#include <cstdint>

#include "nn/cuda/context.h"

namespace cairn::nn::cuda {

// Allocates the scratch memory for AddUpColumns. Throws OutOfMemory.
void ReserveForColumns(Context* context, int64_t rows, int64_t columns);
// sums[column] = the sum of a column of a row-major matrix, in double and in a fixed order.
void AddUpColumns(Context* context, int64_t rows, int64_t columns, const float* values,
                  float* sums);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_COLUMN_SUM_H_
