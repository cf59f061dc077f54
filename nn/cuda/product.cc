#include "nn/cuda/product.h"

#include <algorithm>
#include <limits>

namespace cairn::nn::cuda {
namespace {

int64_t Step(int64_t step, int64_t width) { return step != 0 ? step : width; }

}  // namespace

void Multiply(Context* context, const Product& p, const float* a, const float* b, float* c) {
  // cuBLAS's matrices are column-major: to it, each of ours is its transpose. c^T = op(b)^T
  // op(a)^T.
  const float one = 1, before = p.adds ? 1 : 0;
  const int64_t a_step = Step(p.a_step, p.a_transposed ? p.rows : p.inner);
  const int64_t b_step = Step(p.b_step, p.b_transposed ? p.inner : p.columns);
  const int64_t c_step = Step(p.c_step, p.columns);
  // cuBLAS counts in int.
  if (std::max({p.rows, p.columns, p.inner, a_step, b_step, c_step, p.batches}) >
      std::numeric_limits<int>::max()) {
    return context->Note(CUBLAS_STATUS_INVALID_VALUE, "cublasSgemmStridedBatched");
  }
  context->Note(
      cublasSgemmStridedBatched(
          context->blas(), p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
          p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, static_cast<int>(p.columns),
          static_cast<int>(p.rows), static_cast<int>(p.inner), &one, b, static_cast<int>(b_step),
          p.b_distance, a, static_cast<int>(a_step), p.a_distance, &before, c,
          static_cast<int>(c_step), p.c_distance, static_cast<int>(p.batches)),
      "cublasSgemmStridedBatched");
}

}  // namespace cairn::nn::cuda
