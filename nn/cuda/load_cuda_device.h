#ifndef CAIRN_NN_CUDA_LOAD_CUDA_DEVICE_H_
#define CAIRN_NN_CUDA_LOAD_CUDA_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "nn/device.h"

namespace cairn::nn {

// The GPU of that number (as CUDA_VISIBLE_DEVICES counts them), from the shared library that knows
// how to use it. The library is looked for beside the program, in nn/cuda beside the program's
// folder (as the build leaves it), then where the loader looks; it stays loaded until the process
// ends. UNAVAILABLE says what is missing.
absl::StatusOr<std::unique_ptr<Device>> LoadCudaDevice(int ordinal);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_LOAD_CUDA_DEVICE_H_
