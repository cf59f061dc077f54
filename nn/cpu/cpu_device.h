#ifndef CAIRN_NN_CPU_CPU_DEVICE_H_
#define CAIRN_NN_CPU_CPU_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

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

  absl::Status Zero(void* memory, size_t bytes) override;
  absl::Status Copy(void* to, const void* from, size_t bytes) override;
  absl::Status Add(int64_t count, const float* addend, float* sum) override;
  absl::Status Rescale(int64_t count, float multiplier, float divisor, float* values) override;
  absl::Status Penalty(const Regularizer& regularizer, int64_t count, const float* values,
                       double* penalty) override;
  absl::Status AddPenaltyGradient(const Regularizer& regularizer, int64_t count,
                                  const float* values, float* gradient) override;

  void UseThreads(int threads) override;
  bool CanFuse(const Layer& first, const Layer& second) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> CreateKernel(const Layer& layer,
                                                       const KernelOptions& options) override;
  absl::StatusOr<std::unique_ptr<LossKernel>> CreateLossKernel(
      const Loss& loss, std::vector<const Metric*> metrics) override;

 private:
  const std::unique_ptr<DnnlContext> dnnl_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CPU_DEVICE_H_
