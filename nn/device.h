#ifndef CAIRN_NN_DEVICE_H_
#define CAIRN_NN_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/kernel.h"

namespace cairn::nn {

class Layer;

// A device that runs models: the CPU or one GPU. It allocates memory, copies data and creates the
// kernels of layers. Used by one thread at a time. Must outlive everything created from it.
class Device {
 public:
  struct KernelOptions {
    // The batch size; a kernel runs batches of this size only.
    int64_t examples = 0;
    // If false, Backward is never called and the kernel keeps no state for it.
    bool training = false;
    // If false, no gradient with respect to an input is ever requested.
    bool needs_input_gradient = true;
    // The layer fused with this one: it consumes this layer's output and the kernel computes both
    // (see Fuses). Null if none.
    const Layer* next = nullptr;
  };

  virtual ~Device() = default;

  // A name for logs and messages: "cpu", "cuda:0 (NVIDIA H200)".
  virtual std::string name() const = 0;
  // True if the host can read and write the device's memory directly.
  virtual bool memory_is_host() const = 0;

  // Returns memory aligned to at least 64 bytes, with unspecified contents. RESOURCE_EXHAUSTED
  // names the size.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;
  // Frees memory returned by Allocate. Null is allowed.
  virtual void Free(void* memory) = 0;
  // Copies between host and device. The host memory may be reused as soon as the call returns.
  virtual absl::Status CopyToDevice(void* device, const void* host, size_t bytes) = 0;
  virtual absl::Status CopyFromDevice(void* host, const void* device, size_t bytes) = 0;
  // Blocks until all work submitted before is complete.
  virtual absl::Status Synchronize() = 0;

  // Sets how many host threads the calling thread's work on this device may use from now on.
  virtual void UseThreads(int threads) = 0;
  // Returns true if one kernel can compute `first` followed by `second`, where `second` is the only
  // consumer of the output of `first` and has no other input. The fused kernel receives the inputs
  // of `first`, the output of `second`, and the variables of both, those of `first` first.
  virtual bool Fuses(const Layer& first, const Layer& second) const { return false; }
  // Creates the kernel of `layer`. `layer` and options.next must outlive the kernel. UNIMPLEMENTED
  // names the layer's class if the device has no kernel for it.
  virtual absl::StatusOr<std::unique_ptr<Kernel>> CreateKernel(const Layer& layer,
                                                               const KernelOptions& options) = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_DEVICE_H_
