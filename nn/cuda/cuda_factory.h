#ifndef CAIRN_NN_CUDA_CUDA_FACTORY_H_
#define CAIRN_NN_CUDA_CUDA_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "nn/device.h"

namespace cairn::nn {

inline constexpr char kCudaLibrary[] = "libcairn_cuda.so";
inline constexpr char kCudaFactory[] = "cairn_create_cuda_device";

// The only symbol of the GPU's library. Sets `*device` to the GPU of that number (as
// CUDA_VISIBLE_DEVICES counts them), or to UNAVAILABLE with the reason: no driver or one that is
// too old, no such GPU, or the caller's `version` (cairn::kVersion) is not the library's.
using CudaFactory = void(const char* version, int ordinal,
                         absl::StatusOr<std::unique_ptr<Device>>* device);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_CUDA_FACTORY_H_
