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

}  // namespace cairn::nn
