#ifndef CAIRN_NN_CPU_CPU_DEVICE_H_
#define CAIRN_NN_CPU_CPU_DEVICE_H_

#include <memory>
#include <string>

#include "nn/device.h"

namespace cairn::nn {

struct DnnlContext;

// The host CPU, with oneDNN and OpenMP. All calls are synchronous.
class CpuDevice : public Device {
 public:
  CpuDevice();
  ~CpuDevice() override;

  std::string name() const override { return "cpu"; }
  bool memory_is_host() const override { return true; }

  absl::StatusOr<void*> Allocate(size_t bytes) override;
  void Free(void* memory) override;
  absl::Status CopyToDevice(void* device, const void* host, size_t bytes) override;
  absl::Status CopyFromDevice(void* host, const void* device, size_t bytes) override;
  absl::Status Synchronize() override { return absl::OkStatus(); }

  void UseThreads(int threads) override;
  bool Fuses(const Layer& first, const Layer& second) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> CreateKernel(const Layer& layer,
                                                       const KernelOptions& options) override;

 private:
  const std::unique_ptr<DnnlContext> dnnl_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CPU_DEVICE_H_
