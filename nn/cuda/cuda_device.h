#ifndef CAIRN_NN_CUDA_CUDA_DEVICE_H_
#define CAIRN_NN_CUDA_CUDA_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/cuda/context.h"
#include "nn/cuda/downloads.h"
#include "nn/device.h"

namespace cairn::nn {

// One GPU. All work is submitted to one stream, in the order of the calls; the copies of
// StartCopyFromDevice have another one. Synchronize, the Free functions, CopyFromDevice and
// WaitForCopy wait for it; CopyToDevice waits if its buffers are full, and so do kernels that read
// ids or compute losses on the host. An error of earlier work may be returned by any later call.
// CreateKernel refuses layers without a kernel; doc/cuda.md lists those with one.
class CudaDevice : public Device {
 public:
  // FAILED_PRECONDITION: there is no driver, the driver is too old, or there is no GPU of this
  // ordinal.
  static absl::StatusOr<std::unique_ptr<Device>> Create(int ordinal);
  ~CudaDevice() override;

  std::string name() const override { return name_; }
  bool memory_is_host() const override { return false; }

  absl::StatusOr<void*> Allocate(size_t bytes) override;
  // Waits for all work submitted before, which may still use the memory.
  void Free(void* memory) override;
  absl::Status CopyToDevice(void* device, const void* host, size_t bytes) override;
  absl::Status CopyFromDevice(void* host, const void* device, size_t bytes) override;
  absl::Status StartCopyToDevice(void* device, const void* host, size_t bytes) override;
  absl::StatusOr<int64_t> StartCopyFromDevice(void* host, const void* device,
                                              size_t bytes) override;
  absl::Status WaitForCopy(int64_t copy) override;
  absl::StatusOr<void*> AllocateHost(size_t bytes) override;
  // Waits for all work submitted before.
  void FreeHost(void* memory) override;
  absl::Status Synchronize() override;

  absl::Status Zero(void* memory, size_t bytes) override;
  absl::Status Copy(void* to, const void* from, size_t bytes) override;
  absl::Status Add(int64_t count, const float* addend, float* sum) override;
  absl::Status Rescale(int64_t count, float multiplier, float divisor, float* values) override;
  absl::Status Penalty(const Regularizer& regularizer, int64_t count, const float* values,
                       double* penalty) override;
  absl::Status AddPenaltyGradient(const Regularizer& regularizer, int64_t count,
                                  const float* values, float* gradient) override;

  // Does nothing: host threads do not compute here.
  void UseThreads(int threads) override {}
  bool rounds_products() const override { return true; }
  void UsePrecision(Precision precision) override { context_->set_precision(precision); }
  absl::StatusOr<std::unique_ptr<Kernel>> CreateKernel(const Layer& layer,
                                                       const KernelOptions& options) override;
  absl::StatusOr<std::unique_ptr<LossKernel>> CreateLossKernel(
      const Loss& loss, std::vector<const Metric*> metrics) override;

 private:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {}

  absl::Status Initialize();
  // Selects this GPU; CUDA's current GPU is per thread, and the calling thread may have selected
  // another one. Returns the error of earlier work, if there is one.
  absl::Status Begin();

  const int ordinal_;
  std::string name_;
  std::unique_ptr<cuda::Context> context_;
  std::unique_ptr<Downloads> downloads_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CUDA_CUDA_DEVICE_H_
