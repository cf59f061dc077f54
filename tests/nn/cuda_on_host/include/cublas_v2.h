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
enum cublasComputeType_t {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
enum cudaDataType_t { CUDA_R_32F = 0 };

namespace cuda_on_host {
struct Blas;
}  // namespace cuda_on_host
using cublasHandle_t = cuda_on_host::Blas*;

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
const char* cublasGetStatusName(cublasStatus_t status);

// C = alpha op(A) op(B) + beta C, where C is m x n and op(A) m x k. alpha and beta are floats that
// are read by the call. C is not read if beta is 0. All types are CUDA_R_32F. Sums are exact to a
// float; A and B are first rounded to the nearest TF32, float16 or bfloat16 if the compute type
// allows it.
cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t a_operation, cublasOperation_t b_operation, int m,
    int n, int k, const void* alpha, const void* a, cudaDataType_t a_type, int lda,
    long long a_stride, const void* b, cudaDataType_t b_type, int ldb, long long b_stride,
    const void* beta, void* c, cudaDataType_t c_type, int ldc, long long c_stride, int batches,
    cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm);
// The arrays of pointers are in device memory.
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t a_operation,
                                   cublasOperation_t b_operation, int m, int n, int k,
                                   const void* alpha, const void* const* a, cudaDataType_t a_type,
                                   int lda, const void* const* b, cudaDataType_t b_type, int ldb,
                                   const void* beta, void* const* c, cudaDataType_t c_type, int ldc,
                                   int batches, cublasComputeType_t compute_type,
                                   cublasGemmAlgo_t algorithm);

#endif  // CAIRN_TESTS_NN_CUDA_ON_HOST_INCLUDE_CUBLAS_V2_H_
