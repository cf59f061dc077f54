#include "nn/cpu/column_sum.h"

#include <algorithm>

#include "common/simd.h"

namespace cairn::nn {

CAIRN_SIMD void SumColumns(int64_t rows, int64_t width, const float* values, double* scratch,
                           float* sums) {
  std::fill(scratch, scratch + width, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < width; ++c) scratch[c] += values[row * width + c];
  }
  for (int64_t c = 0; c < width; ++c) sums[c] = static_cast<float>(scratch[c]);
}

}  // namespace cairn::nn
