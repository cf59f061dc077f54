#ifndef CAIRN_NN_DEVICE_H_
#define CAIRN_NN_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/kernel.h"
#include "nn/precision.h"

namespace cairn::nn {

class Layer;
class Metric;
struct Regularizer;

// A device that runs models: the CPU or one GPU. It allocates memory, copies data, creates the
// kernels of layers and losses, and computes what belongs to neither. Nothing else reads or writes
// its memory, unless memory_is_host(). Used by one thread at a time. Must outlive everything
// created from it.
//
// Calls take effect in their order. A device may compute after a call has returned; then the error
// of that work is returned by a later call, at the latest by the next CopyFromDevice, WaitForCopy
// or Synchronize.
class Device {
 public:
  struct KernelOptions {
    // The batch size; a kernel runs batches of this size only.
    int64_t examples = 0;
    // If false, Backward is never called and the kernel keeps no state for it. Forward may be
    // called for training all the same: where nothing is trained, at the layer or before it.
    bool training = false;
    // If false, no gradient with respect to an input is ever requested.
    bool needs_input_gradient = true;
    // The layer fused with this one: it consumes this layer's output and the kernel computes both
    // (see CanFuse). Null if none.
    const Layer* next = nullptr;
  };

  virtual ~Device() = default;

  // A name for logs and messages: "cpu", "cuda:0 (NVIDIA H200)".
  virtual std::string name() const = 0;
  // True if the host and the device can read and write each other's memory directly. Then batches,
  // values, gradients and outputs need no copies.
  virtual bool memory_is_host() const = 0;

  // Returns memory aligned to at least 64 bytes, with unspecified contents. RESOURCE_EXHAUSTED
  // names the size.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;
  // Frees memory returned by Allocate. Null is allowed.
  virtual void Free(void* memory) = 0;
  // Copies between host and device. The host memory may be reused as soon as the call returns.
  virtual absl::Status CopyToDevice(void* device, const void* host, size_t bytes) = 0;
  virtual absl::Status CopyFromDevice(void* host, const void* device, size_t bytes) = 0;
  // Starts a copy from memory of AllocateHost, which must not change before a later copy from the
  // device is complete.
  virtual absl::Status StartCopyToDevice(void* device, const void* host, size_t bytes) {
    return CopyToDevice(device, host, bytes);
  }
  // Starts a copy to memory from AllocateHost of what earlier calls compute, and returns its
  // number. Later calls must not change the device's memory until the copy is complete.
  virtual absl::StatusOr<int64_t> StartCopyFromDevice(void* host, const void* device,
                                                      size_t bytes) {
    const absl::Status status = CopyFromDevice(host, device, bytes);
    if (!status.ok()) return status;
    return 0;
  }
  // Blocks until this copy and all earlier ones are complete.
  virtual absl::Status WaitForCopy(int64_t /*copy*/) { return absl::OkStatus(); }
  // Allocates host memory that the device copies to and from while the host goes on, and frees it.
  // Null is allowed.
  virtual absl::StatusOr<void*> AllocateHost(size_t bytes) {
    void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) return absl::ResourceExhaustedError("no memory");
    return memory;
  }
  virtual void FreeHost(void* memory) { std::free(memory); }
  // Blocks until all work submitted before is complete.
  virtual absl::Status Synchronize() = 0;

  // Operations on device memory.
  virtual absl::Status Zero(void* memory, size_t bytes) = 0;
  virtual absl::Status Copy(void* to, const void* from, size_t bytes) = 0;
  // Adds `count` numbers to those of `sum`.
  virtual absl::Status Add(int64_t count, const float* addend, float* sum) = 0;
  // value = value * multiplier / divisor. Rounds once if the multiplier is a power of two.
  virtual absl::Status Rescale(int64_t count, float multiplier, float divisor, float* values) = 0;
  // Writes Regularizer::Penalty to `penalty`, in device memory.
  virtual absl::Status Penalty(const Regularizer& regularizer, int64_t count, const float* values,
                               double* penalty) = 0;
  // As Regularizer::AddGradient.
  virtual absl::Status AddPenaltyGradient(const Regularizer& regularizer, int64_t count,
                                          const float* values, float* gradient) = 0;

  // Sets how many host threads the calling thread's work on this device may use from now on.
  virtual void UseThreads(int threads) = 0;
  // False if the device ignores UsePrecision and computes in float32.
  virtual bool rounds_products() const { return false; }
  // The precision of the products that are submitted from now on. Initially float32.
  virtual void UsePrecision(Precision precision) {}
  // Returns true if one kernel can compute `first` followed by `second`, where `second` is the only
  // consumer of the output of `first` and has no other input. The fused kernel receives the inputs
  // of `first`, the output of `second`, and the variables of both, those of `first` first.
  virtual bool CanFuse(const Layer& first, const Layer& second) const { return false; }
  // Creates the kernel of `layer`. `layer` and options.next must outlive the kernel. UNIMPLEMENTED
  // names the layer's class if the device has no kernel for it.
  virtual absl::StatusOr<std::unique_ptr<Kernel>> CreateKernel(const Layer& layer,
                                                               const KernelOptions& options) = 0;
  // Creates the kernel of `loss` and of the metrics of the same output, all of which must outlive
  // it. UNIMPLEMENTED names the loss or the metric that the device cannot compute.
  virtual absl::StatusOr<std::unique_ptr<LossKernel>> CreateLossKernel(
      const Loss& loss, std::vector<const Metric*> metrics) = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_DEVICE_H_
