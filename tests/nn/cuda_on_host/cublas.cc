#include <bit>
#include <cstdint>

#include "common/half.h"
#include "cublas_v2.h"
#include "tests/nn/cuda_on_host/runtime.h"

namespace cuda_on_host {

struct Blas {
  cudaStream_t stream = nullptr;
};

namespace {

// The nearest number of the type; of two, the one that is even.
float Rounded(float value, cublasComputeType_t type) {
  if (type == CUBLAS_COMPUTE_32F_FAST_16F) {
    return cairn::FloatFromFloat16(cairn::Float16FromFloat(value));
  }
  const int dropped = type == CUBLAS_COMPUTE_32F_FAST_16BF   ? 16
                      : type == CUBLAS_COMPUTE_32F_FAST_TF32 ? 13
                                                             : 0;
  if (dropped == 0 || value != value) return value;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t half = (uint32_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return std::bit_cast<float>((bits + half) >> dropped << dropped);
}

struct Product {
  cublasOperation_t a_operation;
  cublasOperation_t b_operation;
  int m;
  int n;
  int k;
  float alpha;
  const float* a = nullptr;
  int64_t lda;
  const float* b = nullptr;
  int64_t ldb;
  float beta;
  float* c = nullptr;
  int64_t ldc;
  cublasComputeType_t type;

  bool IsValid() const {
    const int a_rows = a_operation == CUBLAS_OP_N ? m : k;
    const int b_rows = b_operation == CUBLAS_OP_N ? k : n;
    return m >= 0 && n >= 0 && k >= 0 && lda >= (a_rows > 1 ? a_rows : 1) &&
           ldb >= (b_rows > 1 ? b_rows : 1) && ldc >= (m > 1 ? m : 1);
  }
  float A(int i, int p) const {
    return Rounded(a_operation == CUBLAS_OP_N ? a[i + p * lda] : a[p + i * lda], type);
  }
  float B(int p, int j) const {
    return Rounded(b_operation == CUBLAS_OP_N ? b[p + j * ldb] : b[j + p * ldb], type);
  }

  void Run() const {
    if (IsMeasuring(int64_t{m} * n * k)) return Touch();
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int p = 0; p < k; ++p) sum += static_cast<double>(A(i, p)) * B(p, j);
        const float product = alpha * static_cast<float>(sum);
        c[i + j * ldc] = beta == 0 ? product : product + beta * c[i + j * ldc];
      }
    }
  }

  // Reads what Run reads, and writes zeros where it writes.
  void Touch() const {
    [[maybe_unused]] volatile float read = 0;
    for (int64_t p = 0; p < k; ++p) {
      for (int i = 0; i < m; ++i)
        read = a_operation == CUBLAS_OP_N ? a[i + p * lda] : a[p + i * lda];
      for (int j = 0; j < n; ++j)
        read = b_operation == CUBLAS_OP_N ? b[p + j * ldb] : b[j + p * ldb];
    }
    for (int64_t j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        if (beta != 0) read = c[i + j * ldc];
        c[i + j * ldc] = 0;
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

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t a_operation, cublasOperation_t b_operation, int m,
    int n, int k, const void* alpha, const void* a, cudaDataType_t a_type, int lda,
    long long a_stride, const void* b, cudaDataType_t b_type, int ldb, long long b_stride,
    const void* beta, void* c, cudaDataType_t c_type, int ldc, long long c_stride, int batches,
    cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm) {
  const Product product = {.a_operation = a_operation,
                           .b_operation = b_operation,
                           .m = m,
                           .n = n,
                           .k = k,
                           .alpha = *static_cast<const float*>(alpha),
                           .a = static_cast<const float*>(a),
                           .lda = lda,
                           .b = static_cast<const float*>(b),
                           .ldb = ldb,
                           .beta = *static_cast<const float*>(beta),
                           .c = static_cast<float*>(c),
                           .ldc = ldc,
                           .type = compute_type};
  if (!product.IsValid() || batches < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const cudaError_t error =
      cuda_on_host::Enqueue("cublasGemmStridedBatchedEx", handle->stream,
                            [product, a_stride, b_stride, c_stride, batches] {
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

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t a_operation,
                                   cublasOperation_t b_operation, int m, int n, int k,
                                   const void* alpha, const void* const* a, cudaDataType_t a_type,
                                   int lda, const void* const* b, cudaDataType_t b_type, int ldb,
                                   const void* beta, void* const* c, cudaDataType_t c_type, int ldc,
                                   int batches, cublasComputeType_t compute_type,
                                   cublasGemmAlgo_t algorithm) {
  const Product product = {.a_operation = a_operation,
                           .b_operation = b_operation,
                           .m = m,
                           .n = n,
                           .k = k,
                           .alpha = *static_cast<const float*>(alpha),
                           .lda = lda,
                           .ldb = ldb,
                           .beta = *static_cast<const float*>(beta),
                           .ldc = ldc,
                           .type = compute_type};
  if (!product.IsValid() || batches < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const cudaError_t error =
      cuda_on_host::Enqueue("cublasGemmBatchedEx", handle->stream, [product, a, b, c, batches] {
        for (int64_t batch = 0; batch < batches; ++batch) {
          Product one = product;
          one.a = static_cast<const float*>(a[batch]);
          one.b = static_cast<const float*>(b[batch]);
          one.c = static_cast<float*>(c[batch]);
          one.Run();
        }
        return cudaSuccess;
      });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
