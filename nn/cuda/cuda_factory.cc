#include "nn/cuda/cuda_factory.h"

#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "nn/cuda/cuda_device.h"

namespace cairn::nn {

extern "C" __attribute__((visibility("default"))) void cairn_create_cuda_device(
    const char* version, int ordinal, absl::StatusOr<std::unique_ptr<Device>>* device) {
  if (std::strcmp(version, kVersion) != 0) {
    *device = absl::FailedPreconditionError(absl::StrCat(kCudaLibrary, " has version ", kVersion,
                                                         ", the program has version ", version,
                                                         "; install both from one release"));
    return;
  }
  *device = CudaDevice::Create(ordinal);
}

static_assert(std::is_same_v<decltype(cairn_create_cuda_device), CudaFactory>);

}  // namespace cairn::nn
