#include "nn/cpu/cpu_device.h"
#include "tests/nn/layers/conformance_device.h"

namespace cairn::nn::testing {

std::unique_ptr<Device> CreateConformanceDevice() { return std::make_unique<CpuDevice>(); }

}  // namespace cairn::nn::testing
