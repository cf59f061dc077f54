#ifndef CAIRN_NN_CPU_SHARED_SCRATCH_H_
#define CAIRN_NN_CPU_SHARED_SCRATCH_H_

#include <cstdint>

#include "nn/cpu/aligned_buffer.h"

namespace cairn::nn {

// Memory that the kernels of a device take turns to use while they run: what one leaves there is
// gone when another has run. Belongs to the device's thread.
class SharedScratch {
 public:
  // From now on there is room for so many floats; get() may change. Throws std::bad_alloc.
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
