// The GPU backend on the first GPU.

#include <utility>

#include "common/check.h"
#include "nn/cuda/load_cuda_device.h"
#include "tests/nn/layers/conformance_device.h"

namespace cairn::nn::testing {

std::unique_ptr<Device> CreateConformanceDevice() {
  auto device = LoadCudaDevice(0);
  if (absl::IsFailedPrecondition(device.status())) return nullptr;
  CAIRN_CHECK(device.ok());
  return *std::move(device);
}

}  // namespace cairn::nn::testing
