#ifndef CAIRN_NN_CUDA_CUDA_STATUS_H_
#define CAIRN_NN_CUDA_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include <string_view>

#include "absl/status/status.h"

namespace cairn::nn {

// OK, RESOURCE_EXHAUSTED when memory is short, else INTERNAL: "copying 12 bytes to the GPU:
// an illegal memory access was encountered (cudaErrorIllegalAddress)". Errors of earlier work on a
// stream may surface in any later call. The run time forgets an error it can go on after.
absl::Status CudaStatus(cudaError_t error, std::string_view doing);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_CUDA_STATUS_H_
