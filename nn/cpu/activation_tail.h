#ifndef CAIRN_NN_CPU_ACTIVATION_TAIL_H_
#define CAIRN_NN_CPU_ACTIVATION_TAIL_H_

#include <cstdint>
#include <vector>

#include "nn/activation.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/parallel.h"

namespace cairn::nn {

// What stands after the products of a layer with rows x width outputs: a bias and an activation.
// Belongs to one thread.
class ActivationTail {
 public:
  ActivationTail(const Activation& activation, int64_t rows, int64_t width, bool training);

  // Where the products shall be written: `output`, or a buffer of the tail's own if the
  // activation's derivative needs what it was applied to.
  float* Target(float* output) const;
  // Adds `bias` (null: none) to what lies at Target(output), and applies the activation.
  void Forward(const float* bias, float* output);
  // Turns the gradient by the output into the gradient by the products (which it is already, if
  // `before_activation`), and writes the bias's gradient unless that is null.
  void Backward(const float* output, bool before_activation, float* gradient, float* bias_gradient);

 private:
  const Activation activation_;
  const int64_t width_;
  const RowPieces pieces_;
  AlignedBuffer<float> before_activation_;
  // Of each piece.
  std::vector<double> column_sums_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ACTIVATION_TAIL_H_
