#include "cublas_v2.h"
#include "tests/nn/cuda_on_host/runtime.h"

namespace cuda_on_host {

struct Blas {
  cudaStream_t stream = nullptr;
};

namespace {

struct Product {
  cublasOperation_t a_operation;
  cublasOperation_t b_operation;
  int m;
  int n;
  int k;
  float alpha;
  const float* a;
  int64_t lda;
  const float* b;
  int64_t ldb;
  float beta;
  float* c;
  int64_t ldc;

  bool IsValid() const {
    const int a_rows = a_operation == CUBLAS_OP_N ? m : k;
    const int b_rows = b_operation == CUBLAS_OP_N ? k : n;
    return m >= 0 && n >= 0 && k >= 0 && lda >= (a_rows > 1 ? a_rows : 1) &&
           ldb >= (b_rows > 1 ? b_rows : 1) && ldc >= (m > 1 ? m : 1);
  }
  float A(int i, int p) const {
    return a_operation == CUBLAS_OP_N ? a[i + p * lda] : a[p + i * lda];
  }
  float B(int p, int j) const {
    return b_operation == CUBLAS_OP_N ? b[p + j * ldb] : b[j + p * ldb];
  }

  void Run() const {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int p = 0; p < k; ++p) sum += static_cast<double>(A(i, p)) * B(p, j);
        const float product = alpha * static_cast<float>(sum);
        c[i + j * ldc] = beta == 0 ? product : product + beta * c[i + j * ldc];
      }
    }
  }
};

}  // namespace
}  // namespace cuda_on_host

using cuda_on_host::Product;

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cuda_on_host::Blas;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                               : "CUBLAS_STATUS_EXECUTION_FAILED";
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t a_operation,
                           cublasOperation_t b_operation, int m, int n, int k, const float* alpha,
                           const float* a, int lda, const float* b, int ldb, const float* beta,
                           float* c, int ldc) {
  return cublasSgemmStridedBatched(handle, a_operation, b_operation, m, n, k, alpha, a, lda, 0, b,
                                   ldb, 0, beta, c, ldc, 0, 1);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_operation,
                                         cublasOperation_t b_operation, int m, int n, int k,
                                         const float* alpha, const float* a, int lda,
                                         long long a_stride, const float* b, int ldb,
                                         long long b_stride, const float* beta, float* c, int ldc,
                                         long long c_stride, int batches) {
  const Product product = {a_operation, b_operation, m,   n,     k, *alpha, a,
                           lda,         b,           ldb, *beta, c, ldc};
  if (!product.IsValid() || batches < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const cudaError_t error = cuda_on_host::Enqueue(
      "cublasSgemm", handle->stream, [product, a_stride, b_stride, c_stride, batches] {
        for (int64_t batch = 0; batch < batches; ++batch) {
          Product one = product;
          one.a += batch * a_stride;
          one.b += batch * b_stride;
          one.c += batch * c_stride;
          one.Run();
        }
        return cudaSuccess;
      });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasSgemmBatched(cublasHandle_t handle, cublasOperation_t a_operation,
                                  cublasOperation_t b_operation, int m, int n, int k,
                                  const float* alpha, const float* const* a, int lda,
                                  const float* const* b, int ldb, const float* beta,
                                  float* const* c, int ldc, int batches) {
  const Product product = {a_operation, b_operation, m,   n,     k,       *alpha, nullptr,
                           lda,         nullptr,     ldb, *beta, nullptr, ldc};
  if (!product.IsValid() || batches < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const cudaError_t error =
      cuda_on_host::Enqueue("cublasSgemm", handle->stream, [product, a, b, c, batches] {
        for (int64_t batch = 0; batch < batches; ++batch) {
          Product one = product;
          one.a = a[batch];
          one.b = b[batch];
          one.c = c[batch];
          one.Run();
        }
        return cudaSuccess;
      });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
