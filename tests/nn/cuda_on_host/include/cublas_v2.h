// The stand-in for cuBLAS's header of the same name: the calls that nn/cuda uses, as plain loops.
// Matrices are column-major, as cuBLAS's are.

#ifndef CAIRN_TESTS_NN_CUDA_ON_HOST_INCLUDE_CUBLAS_V2_H_
#define CAIRN_TESTS_NN_CUDA_ON_HOST_INCLUDE_CUBLAS_V2_H_

#include "cuda_runtime_api.h"

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };

namespace cuda_on_host {
struct Blas;
}  // namespace cuda_on_host
using cublasHandle_t = cuda_on_host::Blas*;

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
const char* cublasGetStatusName(cublasStatus_t status);

// C = alpha op(A) op(B) + beta C, where C is m x n and op(A) m x k. alpha and beta are read by the
// call. C is not read if beta is 0.
cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t a_operation,
                           cublasOperation_t b_operation, int m, int n, int k, const float* alpha,
                           const float* a, int lda, const float* b, int ldb, const float* beta,
                           float* c, int ldc);
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_operation,
                                         cublasOperation_t b_operation, int m, int n, int k,
                                         const float* alpha, const float* a, int lda,
                                         long long a_stride, const float* b, int ldb,
                                         long long b_stride, const float* beta, float* c, int ldc,
                                         long long c_stride, int batches);
// The arrays of pointers are in device memory.
cublasStatus_t cublasSgemmBatched(cublasHandle_t handle, cublasOperation_t a_operation,
                                  cublasOperation_t b_operation, int m, int n, int k,
                                  const float* alpha, const float* const* a, int lda,
                                  const float* const* b, int ldb, const float* beta,
                                  float* const* c, int ldc, int batches);

#endif  // CAIRN_TESTS_NN_CUDA_ON_HOST_INCLUDE_CUBLAS_V2_H_
