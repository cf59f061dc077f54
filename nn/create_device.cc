#include "nn/create_device.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nn/cpu/cpu_device.h"
#include "nn/cuda/load_cuda_device.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<Device>> CreateDevice(std::string_view kind) {
  if (kind == "cpu") return std::make_unique<CpuDevice>();
  if (kind == "auto") {
    if (FindCudaDriver().ok()) {
      absl::StatusOr<std::unique_ptr<Device>> gpu = LoadCudaDevice(0);
      if (gpu.ok()) return gpu;
    }
    return std::make_unique<CpuDevice>();
  }
  if (kind == "cuda") return LoadCudaDevice(0);
  int ordinal = 0;
  if (kind.starts_with("cuda:") && absl::SimpleAtoi(std::string(kind.substr(5)), &ordinal)) {
    return LoadCudaDevice(ordinal);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown device '", std::string(kind), "'; known: auto, cpu, cuda, cuda:N"));
}

}  // namespace cairn::nn
