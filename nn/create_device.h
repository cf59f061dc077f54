#ifndef CAIRN_NN_CREATE_DEVICE_H_
#define CAIRN_NN_CREATE_DEVICE_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "nn/device.h"

namespace cairn::nn {

// Creates the device of the given kind: "cpu", "cuda" (the first GPU) or "auto" (the best device
// that can train; today always the CPU, because the GPU backend is unproven, see doc/cuda.md).
//
// The GPU code is a shared library. It is searched next to the program first, then on the dynamic
// loader's path.
//
// Errors: UNAVAILABLE gives the reason why no GPU can be used; INVALID_ARGUMENT lists the known
// kinds.
absl::StatusOr<std::unique_ptr<Device>> CreateDevice(std::string_view kind);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CREATE_DEVICE_H_
