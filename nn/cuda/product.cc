#include "nn/cuda/product.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace cairn::nn::cuda {
namespace {

int64_t RowStride(int64_t stride, int64_t width) { return stride != 0 ? stride : width; }

cublasComputeType_t ComputeType(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return CUBLAS_COMPUTE_32F;
    case Precision::kTensorFloat32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::kBfloat16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case Precision::kFloat16:
      return CUBLAS_COMPUTE_32F_FAST_16F;
  }
  return CUBLAS_COMPUTE_32F;
}

cublasOperation_t Operation(bool is_transposed) {
  return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace

// cuBLAS's matrices are column-major: to it, each of ours is its transpose. c^T = op(b)^T op(a)^T.

void Multiply(Context* context, const Product& p, const float* a, const float* b, float* c) {
  const float one = 1, before = p.adds ? 1 : 0;
  const int64_t a_row_stride = RowStride(p.a_row_stride, p.a_transposed ? p.rows : p.inner);
  const int64_t b_row_stride = RowStride(p.b_row_stride, p.b_transposed ? p.inner : p.columns);
  const int64_t c_row_stride = RowStride(p.c_row_stride, p.columns);
  // cuBLAS counts in int.
  if (std::max({p.rows, p.columns, p.inner, a_row_stride, b_row_stride, c_row_stride, p.batches}) >
      std::numeric_limits<int>::max()) {
    return context->Note(CUBLAS_STATUS_INVALID_VALUE, "cublasGemmStridedBatchedEx");
  }
  context->Note(
      cublasGemmStridedBatchedEx(
          context->blas(), Operation(p.b_transposed), Operation(p.a_transposed),
          static_cast<int>(p.columns), static_cast<int>(p.rows), static_cast<int>(p.inner), &one, b,
          CUDA_R_32F, static_cast<int>(b_row_stride), p.b_batch_stride, a, CUDA_R_32F,
          static_cast<int>(a_row_stride), p.a_batch_stride, &before, c, CUDA_R_32F,
          static_cast<int>(c_row_stride), p.c_batch_stride, static_cast<int>(p.batches),
          ComputeType(p.is_exact ? Precision::kFloat32 : context->precision()),
          CUBLAS_GEMM_DEFAULT),
      "cublasGemmStridedBatchedEx");
}

BatchedProduct::BatchedProduct(const Options& options, Context* context)
    : context_(context), options_(options), places_(context, 3 * count()) {
  std::vector<float*> places;
  for (const Matrices* matrices : {&options.a, &options.b, &options.c}) {
    for (int64_t i = 0; i < count(); ++i) {
      places.push_back(matrices->data + i / options.heads * matrices->example_stride +
                       i % options.heads * matrices->head_stride);
    }
  }
  context->Upload(places_.data(), places);
}

void BatchedProduct::Run() const {
  const Options& o = options_;
  const float one = 1, zero = 0;
  // cuBLAS counts in int.
  if (std::max({o.rows, o.columns, o.inner, o.a.row_stride, o.b.row_stride, o.c.row_stride,
                count()}) > std::numeric_limits<int>::max()) {
    return context_->Note(CUBLAS_STATUS_INVALID_VALUE, "cublasGemmBatchedEx");
  }
  float* const* const a = places_.data();
  float* const* const b = a + count();
  float* const* const c = b + count();
  context_->Note(
      cublasGemmBatchedEx(
          context_->blas(), Operation(o.b.is_transposed), Operation(o.a.is_transposed),
          static_cast<int>(o.columns), static_cast<int>(o.rows), static_cast<int>(o.inner), &one,
          reinterpret_cast<const void* const*>(b), CUDA_R_32F, static_cast<int>(o.b.row_stride),
          reinterpret_cast<const void* const*>(a), CUDA_R_32F, static_cast<int>(o.a.row_stride),
          &zero, reinterpret_cast<void* const*>(c), CUDA_R_32F, static_cast<int>(o.c.row_stride),
          static_cast<int>(count()), ComputeType(context_->precision()), CUBLAS_GEMM_DEFAULT),
      "cublasGemmBatchedEx");
}

}  // namespace cairn::nn::cuda
