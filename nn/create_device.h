#ifndef CAIRN_NN_CREATE_DEVICE_H_
#define CAIRN_NN_CREATE_DEVICE_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "nn/device.h"

namespace cairn::nn {

// `kind` is "cpu", "cuda" (the first GPU) or "auto" (the best that can train: at present the CPU,
// because the GPU has no kernels of layers yet). The GPU's code is a shared library, looked for
// beside the program, then where the loader looks. UNAVAILABLE says why there is no GPU;
// INVALID_ARGUMENT lists the kinds.
absl::StatusOr<std::unique_ptr<Device>> CreateDevice(std::string_view kind);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CREATE_DEVICE_H_
