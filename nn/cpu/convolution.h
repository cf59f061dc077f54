#ifndef CAIRN_NN_CPU_CONVOLUTION_H_
#define CAIRN_NN_CPU_CONVOLUTION_H_

#include <cstdint>

#include "nn/layers/window.h"
#include "nn/tensor.h"

namespace cairn::nn {

// The three products of a convolution layer for batches of one size (CreateConvolution chooses
// how). Images are (examples, height, width, channels), kernels Keras's (height, width, input
// channels / groups, filters). Belongs to one thread.
class Convolution {
 public:
  struct Options {
    int64_t examples = 0;
    Shape input;  // Of one example.
    Shape output;
    Window window;
    int64_t groups = 1;
    bool adds_bias = false;
    bool applies_relu = false;
    bool training = false;
    bool needs_input_gradient = true;

    // Of all examples.
    int64_t output_pixels() const { return examples * output[0] * output[1]; }
  };

  virtual ~Convolution() = default;

  // output = convolution of input with kernel, + bias, relu, as the options say.
  virtual void Forward(const float* input, const float* kernel, const float* bias,
                       float* output) = 0;
  // The gradients by the kernel and by the input. Only with options.training, and the latter with
  // needs_input_gradient.
  virtual void KernelGradient(const float* input, const float* output_gradient,
                              float* kernel_gradient) = 0;
  virtual void InputGradient(const float* output_gradient, const float* kernel,
                             float* input_gradient) = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CONVOLUTION_H_
