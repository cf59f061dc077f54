// The GPU backend on the stand-in. The orders of threads are drawn from CAIRN_CUDA_SEED.

#include <cstdlib>

#include "common/check.h"
#include "nn/cuda/cuda_device.h"
#include "tests/nn/cuda_on_host/cuda_on_host.h"
#include "tests/nn/layers/conformance_device.h"

namespace cairn::nn::testing {

std::unique_ptr<Device> CreateConformanceDevice() {
  const char* const seed = std::getenv("CAIRN_CUDA_SEED");
  CAIRN_CHECK(seed != nullptr);
  cuda_on_host::SetSeed(std::strtoull(seed, nullptr, 10));
  auto device = CudaDevice::Create(0);
  CAIRN_CHECK(device.ok());
  return *std::move(device);
}

bool ConformanceDeviceHasAllLayers() { return false; }

}  // namespace cairn::nn::testing
