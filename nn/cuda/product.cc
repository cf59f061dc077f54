#include "nn/cuda/product.h"

#include <vector>

namespace cairn::nn::cuda {
namespace {

int Step(int64_t step, int64_t width) { return static_cast<int>(step != 0 ? step : width); }

cublasOperation_t Operation(bool is_transposed) {
  return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace

// cuBLAS's matrices are column-major: to it, each of ours is its transpose. c^T = op(b)^T op(a)^T.

void Multiply(Context* context, const Product& p, const float* a, const float* b, float* c) {
  const float one = 1;
  const float old = p.adds ? 1 : 0;
  context->Note(
      cublasSgemmStridedBatched(
          context->blas(), Operation(p.b_transposed), Operation(p.a_transposed),
          static_cast<int>(p.columns), static_cast<int>(p.rows), static_cast<int>(p.inner), &one, b,
          Step(p.b_step, p.b_transposed ? p.inner : p.columns), p.b_distance, a,
          Step(p.a_step, p.a_transposed ? p.rows : p.inner), p.a_distance, &old, c,
          Step(p.c_step, p.columns), p.c_distance, static_cast<int>(p.batches)),
      "cublasSgemmStridedBatched");
}

BatchedProduct::BatchedProduct(const Options& options, Context* context)
    : context_(context), options_(options), places_(context, 3 * count()) {
  std::vector<float*> places;
  for (const Matrices* matrices : {&options.a, &options.b, &options.c}) {
    for (int64_t i = 0; i < count(); ++i) {
      places.push_back(matrices->data + i / options.heads * matrices->example +
                       i % options.heads * matrices->head);
    }
  }
  context->Upload(places_.data(), places);
}

void BatchedProduct::Run() const {
  const Options& o = options_;
  const float one = 1, zero = 0;
  float* const* const a = places_.data();
  float* const* const b = a + count();
  float* const* const c = b + count();
  context_->Note(
      cublasSgemmBatched(context_->blas(), Operation(o.b.is_transposed),
                         Operation(o.a.is_transposed), static_cast<int>(o.columns),
                         static_cast<int>(o.rows), static_cast<int>(o.inner), &one, b,
                         static_cast<int>(o.b.step), a, static_cast<int>(o.a.step), &zero, c,
                         static_cast<int>(o.c.step), static_cast<int>(count())),
      "cublasSgemmBatched");
}

}  // namespace cairn::nn::cuda
