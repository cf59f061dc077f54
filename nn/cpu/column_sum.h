#ifndef CAIRN_NN_CPU_COLUMN_SUM_H_
#define CAIRN_NN_CPU_COLUMN_SUM_H_

#include <cstdint>

namespace cairn::nn {

// sums[c] = the sum over rows of values[row * width + c]; used for a bias's gradient. Sums in
// double; `scratch` has room for `width` elements.
void SumColumns(int64_t rows, int64_t width, const float* values, double* scratch, float* sums);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_COLUMN_SUM_H_
