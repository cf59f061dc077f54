#ifndef CAIRN_NN_CPU_ALIGNED_BUFFER_H_
#define CAIRN_NN_CPU_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace cairn::nn {

// Scratch memory of a kernel, aligned for vector instructions. Throws std::bad_alloc, which
// CpuDevice::CreateKernel turns into a status.
template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t count) {
    constexpr size_t kAlignment = 64;
    const size_t bytes =
        (static_cast<size_t>(count) * sizeof(T) + kAlignment - 1) & ~(kAlignment - 1);
    memory_.reset(static_cast<T*>(std::aligned_alloc(kAlignment, bytes + kAlignment)));
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
