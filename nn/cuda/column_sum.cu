#include "nn/cuda/column_sum.h"
#include "nn/cuda/loops.h"

namespace cairn::nn::cuda {

void ReserveForColumns(Context* context, int64_t rows, int64_t columns) {
  context->ReserveScratch(ColumnScratchBytes<1>(rows, columns));
}

void AddUpColumns(Context* context, int64_t rows, int64_t columns, const float* values,
                  float* sums) {
  SumColumns<1>(
      context, rows, columns,
      [=] __device__(int64_t row, int64_t column, ColumnSums<1> * to) {
        to->values[0] += values[row * columns + column];
      },
      [=] __device__(int64_t column, const ColumnSums<1>& of) {
        sums[column] = static_cast<float>(of.values[0]);
      });
}

}  // namespace cairn::nn::cuda
