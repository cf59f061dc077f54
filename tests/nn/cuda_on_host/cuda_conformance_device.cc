// The GPU backend on the stand-in.

#include "common/check.h"
#include "nn/cuda/cuda_device.h"
#include "tests/nn/layers/conformance_device.h"

namespace cairn::nn::testing {

std::unique_ptr<Device> CreateConformanceDevice() {
  auto device = CudaDevice::Create(0);
  CAIRN_CHECK(device.ok());
  return *std::move(device);
}

}  // namespace cairn::nn::testing
