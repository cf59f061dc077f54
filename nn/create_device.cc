#include "nn/create_device.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nn/cpu/cpu_device.h"
#include "nn/cuda/load_cuda_device.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<Device>> CreateDevice(std::string_view kind) {
  if (kind == "cpu" || kind == "auto") return std::make_unique<CpuDevice>();
  if (kind == "cuda") return LoadCudaDevice(0);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown device '", std::string(kind), "'; known: auto, cpu, cuda"));
}

}  // namespace cairn::nn
