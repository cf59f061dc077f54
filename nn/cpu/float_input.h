#ifndef CAIRN_NN_CPU_FLOAT_INPUT_H_
#define CAIRN_NN_CPU_FLOAT_INPUT_H_

#include <cstdint>
#include <cstring>

#include "nn/cpu/aligned_buffer.h"
#include "nn/tensor.h"

namespace cairn::nn {

// Converts an integer input to float for kernels that compute in float; images may be integers.
// Float inputs are passed through.
class FloatInput {
 public:
  FloatInput(const TensorSpec& spec, int64_t examples)
      : count_(spec.type == proto::FLOAT32 ? 0 : examples * ElementCount(spec.shape)),
        floats_(count_) {}

  // Returns the input as floats. The result is valid until the next call or as long as `values`,
  // whichever is shorter.
  const float* Get(const float* values) {
    for (int64_t i = 0; i < count_; ++i) {
      int32_t number;
      std::memcpy(&number, values + i, sizeof(number));
      floats_.get()[i] = static_cast<float>(number);
    }
    return count_ == 0 ? values : floats_.get();
  }

 private:
  // The number of values to convert; 0 if the input is float.
  const int64_t count_;
  AlignedBuffer<float> floats_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_FLOAT_INPUT_H_
