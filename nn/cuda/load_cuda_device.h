#ifndef CAIRN_NN_CUDA_LOAD_CUDA_DEVICE_H_
#define CAIRN_NN_CUDA_LOAD_CUDA_DEVICE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/device.h"

namespace cairn::nn {

// FAILED_PRECONDITION: this machine has no NVIDIA driver. Takes no time; the GPU library takes 0.3
// s and 0.2 GB, because it loads cuBLAS.
absl::Status FindCudaDriver();

// Loads the GPU library and creates the device of the GPU of this ordinal (in the order of
// CUDA_VISIBLE_DEVICES). The library is searched next to the program, in nn/cuda next to the
// program's folder (the layout of the build), then on the dynamic loader's path. It stays loaded
// until the process exits. FAILED_PRECONDITION names what is missing.
absl::StatusOr<std::unique_ptr<Device>> LoadCudaDevice(int ordinal);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_LOAD_CUDA_DEVICE_H_
