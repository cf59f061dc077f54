#ifndef CAIRN_NN_CUDA_CUDA_STATUS_H_
#define CAIRN_NN_CUDA_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include <string_view>

#include "absl/status/status.h"

namespace cairn::nn {

// Converts a CUDA error to a status: RESOURCE_EXHAUSTED if memory is short, otherwise INTERNAL. The
// message starts with `doing`: "copying 12 bytes to the GPU: an illegal memory access was
// encountered (cudaErrorIllegalAddress)". An error of earlier work on a stream may surface in any
// later call. Clears CUDA's last error if it is recoverable.
absl::Status CudaStatus(cudaError_t error, std::string_view doing);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_CUDA_STATUS_H_
