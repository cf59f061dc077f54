#ifndef CAIRN_NN_CUDA_FLOAT_INPUT_H_
#define CAIRN_NN_CUDA_FLOAT_INPUT_H_

#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/tensor.h"

namespace cairn::nn::cuda {

// Converts an integer input to float for kernels that compute in float; images may be integers.
// Float inputs are passed through. The constructor throws OutOfMemory.
class FloatInput {
 public:
  FloatInput(const TensorSpec& spec, int64_t examples, Context* context);

  // Returns the input as floats, in device memory. The result is valid until the next call or as
  // long as `values`, whichever is shorter.
  const float* Get(const float* values) const;

 private:
  Context* const context_;
  // The number of values to convert; 0 if the input is float.
  const int64_t count_;
  DeviceArray<float> floats_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_FLOAT_INPUT_H_
