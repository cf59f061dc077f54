#ifndef CAIRN_NN_CPU_CONVOLUTION_H_
#define CAIRN_NN_CPU_CONVOLUTION_H_

#include <cstdint>
#include <memory>

#include "nn/cpu/dnnl_context.h"
#include "nn/layers/window.h"
#include "nn/tensor.h"

namespace cairn::nn {

// The three products of a convolution layer for batches of one size, on oneDNN: Winograd's way
// where that is faster, else the direct one. Images are (examples, height, width, channels),
// kernels Keras's (height, width, input channels / groups, filters). Belongs to one thread.
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
  };

  // Throws dnnl::error and std::bad_alloc, which CpuDevice turns into a status.
  Convolution(const Options& options, const DnnlContext* context);
  ~Convolution();

  // output = convolution of input with kernel, + bias, relu, as the options say.
  void Forward(const float* input, const float* kernel, const float* bias, float* output);
  // The gradients by the kernel and by the input. Only with options.training, and the latter with
  // needs_input_gradient.
  void KernelGradient(const float* input, const float* output_gradient, float* kernel_gradient);
  void InputGradient(const float* output_gradient, const float* kernel, float* input_gradient);

 private:
  struct Pass;
  struct Primitives;

  void CreatePasses(const Options& options, bool winograd);

  const DnnlContext* const context_;
  const std::unique_ptr<Primitives> primitives_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CONVOLUTION_H_
