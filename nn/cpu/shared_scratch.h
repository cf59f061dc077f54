#ifndef CAIRN_NN_CPU_SHARED_SCRATCH_H_
#define CAIRN_NN_CPU_SHARED_SCRATCH_H_

#include <cstdint>

#include "nn/cpu/aligned_buffer.h"

namespace cairn::nn {

// Scratch memory that the kernels of a device share: each may use it while it runs, and the next
// one overwrites it. Used by the device's thread.
class SharedScratch {
 public:
  // Ensures room for `count` floats. Invalidates get(). Throws std::bad_alloc.
  void Reserve(int64_t count) {
    if (count <= count_) return;
    memory_ = AlignedBuffer<float>();
    count_ = 0;
    memory_ = AlignedBuffer<float>(count);
    count_ = count;
  }
  float* get() const { return memory_.get(); }

 private:
  int64_t count_ = 0;
  AlignedBuffer<float> memory_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_SHARED_SCRATCH_H_
