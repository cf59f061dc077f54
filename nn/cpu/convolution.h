#ifndef CAIRN_NN_CPU_CONVOLUTION_H_
#define CAIRN_NN_CPU_CONVOLUTION_H_

#include <cstdint>

#include "nn/layers/window.h"
#include "nn/tensor.h"

namespace cairn::nn {

// The forward pass and the two gradients of a convolution for one batch size. Images have layout
// (examples, height, width, channels); kernels have Keras's layout (height, width, input channels /
// groups, filters). CreateConvolution selects the algorithm. Used by one thread.
class Convolution {
 public:
  struct Options {
    int64_t examples = 0;
    Shape input;  // (height, width, channels) of one example.
    Shape output;
    Window window;
    int64_t groups = 1;
    bool adds_bias = false;
    bool applies_relu = false;
    bool training = false;
    bool needs_input_gradient = true;

    // The number of output pixels of all examples.
    int64_t output_pixels() const { return examples * output[0] * output[1]; }
  };

  virtual ~Convolution() = default;

  // output = conv(input, kernel), plus bias and ReLU if the options say so.
  virtual void Forward(const float* input, const float* kernel, const float* bias,
                       float* output) = 0;
  // Writes the gradient with respect to the kernel or the input. Requires options.training;
  // InputGradient also requires needs_input_gradient.
  virtual void KernelGradient(const float* input, const float* output_gradient,
                              float* kernel_gradient) = 0;
  virtual void InputGradient(const float* output_gradient, const float* kernel,
                             float* input_gradient) = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CONVOLUTION_H_
