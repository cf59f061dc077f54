#ifndef CAIRN_NN_CUDA_CUDA_FACTORY_H_
#define CAIRN_NN_CUDA_CUDA_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "nn/device.h"

namespace cairn::nn {

inline constexpr char kCudaLibrary[] = "libcairn_cuda.so";
inline constexpr char kCudaFactory[] = "cairn_create_cuda_device";

// The type of the only symbol that the GPU library exports. Sets `*device` to the GPU of this
// ordinal (in the order of CUDA_VISIBLE_DEVICES), or to UNAVAILABLE with the reason: no driver, a
// driver that is too old, no such GPU, or a `version` (cairn::kVersion of the caller) that is not
// the library's.
using CudaFactory = void(const char* version, int ordinal,
                         absl::StatusOr<std::unique_ptr<Device>>* device);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_CUDA_FACTORY_H_
