#ifndef CAIRN_NN_CPU_ACTIVATION_TAIL_H_
#define CAIRN_NN_CPU_ACTIVATION_TAIL_H_

#include <cstdint>
#include <vector>

#include "nn/activation.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/parallel.h"
#include "nn/kernel.h"

namespace cairn::nn {

// Applies a bias and an activation to the product of a layer with rows x width outputs, and
// computes their gradients. Used by one thread.
class ActivationTail {
 public:
  ActivationTail(const Activation& activation, int64_t rows, int64_t width, bool training);

  // Where the layer must write its product: `logits` (ForwardArguments::logits) if not null, an
  // internal buffer if the activation's derivative needs the activation's input, else `output`.
  float* Target(float* output, float* logits) const;
  // Adds `bias` (null: none) to the product at Target(output, logits), applies the activation and
  // writes `output`.
  void Forward(const float* bias, float* output, float* logits);
  // Turns the gradient with respect to the output, in place, into the gradient with respect to the
  // product (see BackwardArguments). Writes the bias's gradient unless it is null.
  void Backward(const BackwardArguments& arguments, float* gradient, float* bias_gradient);

 private:
  const Activation activation_;
  const int64_t width_;
  const RowPieces pieces_;
  AlignedBuffer<float> before_activation_;
  // The column sums of each piece of rows.
  std::vector<double> column_sums_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ACTIVATION_TAIL_H_
