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

// Where a model computes: a CPU or one GPU. Belongs to one thread at a time; outlives everything
// that was created from it.
class Device {
 public:
  // c = a b: a has `rows` x `inner`, b `inner` x `columns`, c `rows` x `columns` elements. A
  // transposed operand is stored with its two dimensions swapped.
  struct Product {
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t inner = 0;
    const float* a = nullptr;
    bool a_transposed = false;
    const float* b = nullptr;
    bool b_transposed = false;
    float* c = nullptr;
  };

  struct KernelOptions {
    // Of every batch that the kernel will see.
    int64_t examples = 0;
    // False: Backward is never called.
    bool training = false;
    // False: nobody will ask for the gradient by an input.
    bool needs_input_gradient = true;
    // The layer that takes this one's output and is computed along with it (see Fuses), or null.
    const Layer* next = nullptr;
  };

  virtual ~Device() = default;

  // For people: "cpu", "cuda:0 (NVIDIA H200)".
  virtual std::string name() const = 0;
  // True if its memory can be read and written by the host directly.
  virtual bool memory_is_host() const = 0;

  // At least 64-byte aligned, contents unspecified. RESOURCE_EXHAUSTED names the size.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;
  // Null is allowed.
  virtual void Free(void* memory) = 0;
  // The host's memory may be reused when they return.
  virtual absl::Status CopyToDevice(void* device, const void* host, size_t bytes) = 0;
  virtual absl::Status CopyFromDevice(void* host, const void* device, size_t bytes) = 0;
  // Returns when everything that was asked for is done.
  virtual absl::Status Synchronize() = 0;
  virtual absl::Status Multiply(const Product& product) = 0;

  // How many threads of the host the calling thread's work on this device may use from now on.
  virtual void UseThreads(int threads) = 0;
  // Whether one kernel can compute `first` and then `second`, which takes nothing but its output.
  // The kernel sees first's inputs, second's output, and the variables of both, first's before
  // second's.
  virtual bool Fuses(const Layer& first, const Layer& second) const { return false; }
  // UNIMPLEMENTED, naming the layer's class, if the device has no kernel for it. `layer` and
  // options.next must outlive the kernel.
  virtual absl::StatusOr<std::unique_ptr<Kernel>> CreateKernel(const Layer& layer,
                                                               const KernelOptions& options) = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_DEVICE_H_
