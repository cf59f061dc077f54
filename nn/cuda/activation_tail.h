#ifndef CAIRN_NN_CUDA_ACTIVATION_TAIL_H_
#define CAIRN_NN_CUDA_ACTIVATION_TAIL_H_

#include <cstdint>

#include "nn/activation.h"
#include "nn/cuda/context.h"
#include "nn/kernel.h"

namespace cairn::nn::cuda {

// Applies a bias and an activation to the product of a layer with rows x width outputs, and
// computes their gradients. Throws OutOfMemory.
class ActivationTail {
 public:
  ActivationTail(Context* context, const Activation& activation, int64_t rows, int64_t width,
                 bool training);

  // Where the layer must write its product: `logits` (ForwardArguments::logits) if not null, an
  // internal buffer if the activation's derivative needs the activation's input, else `output`.
  float* Target(float* output, float* logits) const;
  // Adds `bias` (null: none) to the product at Target(output, logits), applies the activation and
  // writes `output`.
  void Forward(const float* bias, float* output, float* logits);
  // Turns the gradient with respect to the output, in place, into the gradient with respect to the
  // product (see BackwardArguments). Writes the bias's gradient unless it is null. Uses the scratch
  // memory.
  void Backward(const BackwardArguments& arguments, float* gradient, float* bias_gradient);

 private:
  Context* const context_;
  const Activation activation_;
  const int64_t rows_;
  const int64_t width_;
  DeviceArray<float> before_activation_;
};

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_ACTIVATION_TAIL_H_
