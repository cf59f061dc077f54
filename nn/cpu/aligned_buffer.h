#ifndef CAIRN_NN_CPU_ALIGNED_BUFFER_H_
#define CAIRN_NN_CPU_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "nn/cpu/aligned_memory.h"

namespace cairn::nn {

// Owns `count` elements of uninitialized scratch memory, aligned for vector instructions. Movable.
// The constructor throws std::bad_alloc, which CpuDevice::CreateKernel turns into a status.
template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t count) {
    memory_.reset(static_cast<T*>(AllocateAligned(static_cast<size_t>(count) * sizeof(T))));
    if (memory_ == nullptr) throw std::bad_alloc();
  }

  T* get() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> memory_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ALIGNED_BUFFER_H_
