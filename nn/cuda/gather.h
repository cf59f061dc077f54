#ifndef CAIRN_NN_CUDA_GATHER_H_
#define CAIRN_NN_CUDA_GATHER_H_

#include <cstdint>
#include <vector>

#include "nn/cuda/context.h"

namespace cairn::nn::cuda {

// Copies elements of each example from fixed places, and adds gradients back to these places. Sums
// have a fixed order. Throws OutOfMemory.
class Gather {
 public:
  // `sources` has for each element of an example's output the index of its element of the input, or
  // -1 for zero. `inputs` is the number of an example's input elements.
  Gather(Context* context, const std::vector<int64_t>& sources, int64_t inputs);

  // The input element of each output element, in device memory.
  const int64_t* sources() const { return sources_.data(); }
  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }

  void Forward(int64_t examples, const float* input, float* output) const;
  // Each input element gets the sum over its output elements; 0 if it has none.
  void Backward(int64_t examples, const float* output, float* input) const;
  // The same, summed over all examples.
  void SumExamples(int64_t examples, const float* output, float* input) const;

 private:
  Context* const context_;
  const int64_t inputs_;
  const int64_t outputs_;
  DeviceArray<int64_t> sources_;
  // The output elements of input element i are targets[begins[i]] to targets[begins[i + 1]].
  DeviceArray<int64_t> begins_;
  DeviceArray<int64_t> targets_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_GATHER_H_
