#include "nn/cuda/product.h"

namespace cairn::nn::cuda {
namespace {

int Step(int64_t step, int64_t width) { return static_cast<int>(step != 0 ? step : width); }

}  // namespace

void Multiply(Context* context, const Product& p, const float* a, const float* b, float* c) {
  // cuBLAS's matrices are column-major: to it, each of ours is its transpose. c^T = op(b)^T
  // op(a)^T.
  const float one = 1, kept = p.adds ? 1 : 0;
  context->Note(cublasSgemmStridedBatched(
                    context->blas(), p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                    p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, static_cast<int>(p.columns),
                    static_cast<int>(p.rows), static_cast<int>(p.inner), &one, b,
                    Step(p.b_step, p.b_transposed ? p.inner : p.columns), p.b_distance, a,
                    Step(p.a_step, p.a_transposed ? p.rows : p.inner), p.a_distance, &kept, c,
                    Step(p.c_step, p.columns), p.c_distance, static_cast<int>(p.batches)),
                "cublasSgemmStridedBatched");
}

}  // namespace cairn::nn::cuda
