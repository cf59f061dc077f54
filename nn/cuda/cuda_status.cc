#include "nn/cuda/cuda_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace cairn::nn {
namespace {

std::string Message(std::string_view doing, const char* text, const char* name) {
  return absl::StrCat(std::string(doing), ": ", text, " (", name, ")");
}

}  // namespace

absl::Status CudaStatus(cudaError_t error, std::string_view doing) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  const absl::StatusCode code = error == cudaErrorMemoryAllocation
                                    ? absl::StatusCode::kResourceExhausted
                                    : absl::StatusCode::kInternal;
  return absl::Status(code, Message(doing, cudaGetErrorString(error), cudaGetErrorName(error)));
}

absl::Status CublasStatus(cublasStatus_t error, std::string_view doing) {
  if (error == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const absl::StatusCode code = error == CUBLAS_STATUS_ALLOC_FAILED
                                    ? absl::StatusCode::kResourceExhausted
                                    : absl::StatusCode::kInternal;
  return absl::Status(code,
                      Message(doing, cublasGetStatusString(error), cublasGetStatusName(error)));
}

}  // namespace cairn::nn
