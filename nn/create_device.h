#ifndef CAIRN_NN_CREATE_DEVICE_H_
#define CAIRN_NN_CREATE_DEVICE_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "nn/device.h"

namespace cairn::nn {

// Creates the device of the given kind: "cpu", "cuda:N" (a GPU, numbered from 0), "cuda" (the
// first) or "auto" (the first GPU if it can be used, otherwise the CPU).
//
// The GPU code is a shared library. It is searched next to the program first, then on the dynamic
// loader's path.
//
// Errors: FAILED_PRECONDITION gives the reason why no GPU can be used; INVALID_ARGUMENT lists the
// known kinds.
absl::StatusOr<std::unique_ptr<Device>> CreateDevice(std::string_view kind);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CREATE_DEVICE_H_
