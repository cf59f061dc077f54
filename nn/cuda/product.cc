#include "nn/cuda/product.h"

#include <algorithm>
#include <limits>

namespace cairn::nn::cuda {
namespace {

int64_t Step(int64_t step, int64_t width) { return step != 0 ? step : width; }

cublasComputeType_t ComputeType(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return CUBLAS_COMPUTE_32F;
    case Precision::kTensorFloat32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::kBfloat16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
  }
  return CUBLAS_COMPUTE_32F;
}

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
    return context->Note(CUBLAS_STATUS_INVALID_VALUE, "cublasGemmStridedBatchedEx");
  }
  context->Note(
      cublasGemmStridedBatchedEx(
          context->blas(), p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
          p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, static_cast<int>(p.columns),
          static_cast<int>(p.rows), static_cast<int>(p.inner), &one, b, CUDA_R_32F,
          static_cast<int>(b_step), p.b_distance, a, CUDA_R_32F, static_cast<int>(a_step),
          p.a_distance, &before, c, CUDA_R_32F, static_cast<int>(c_step), p.c_distance,
          static_cast<int>(p.batches), ComputeType(context->precision()), CUBLAS_GEMM_DEFAULT),
      "cublasGemmStridedBatchedEx");
}

}  // namespace cairn::nn::cuda
