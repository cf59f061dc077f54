#include "nn/cuda/activation_tail.h"
#include "nn/cuda/convolution.h"
#include "nn/cuda/kernels.h"
#include "nn/layers/conv2d.h"

namespace cairn::nn::cuda {
namespace {

class Conv2DKernel final : public Kernel {
 public:
  Conv2DKernel(const Conv2DLayer& layer, const KernelContext& context)
      : use_bias_(layer.use_bias()),
        convolution_({.examples = context.options.examples,
                      .input = layer.input_image(),
                      .output = layer.output_image(),
                      .window = layer.window(),
                      .groups = layer.groups()},
                     context.cuda),
        tail_(context.cuda, layer.activation(),
              context.options.examples * layer.output_image()[0] * layer.output_image()[1],
              layer.output_image()[2], context.options.training) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    convolution_.Forward(arguments.inputs[0], arguments.variables[0],
                         tail_.Target(arguments.output));
    tail_.Forward(use_bias_ ? arguments.variables[1] : nullptr, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.output_gradient;
    tail_.Backward(arguments.output, arguments.before_activation, gradient,
                   use_bias_ ? arguments.variable_gradients[1] : nullptr);
    if (float* kernel = arguments.variable_gradients[0]) {
      convolution_.KernelGradient(arguments.inputs[0], gradient, kernel);
    }
    if (float* input = arguments.input_gradients[0]) {
      convolution_.InputGradient(gradient, arguments.variables[0], input);
    }
  }

 private:
  const bool use_bias_;
  Convolution convolution_;
  ActivationTail tail_;
};

}  // namespace

std::unique_ptr<Kernel> CreateConv2DKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<Conv2DKernel>(static_cast<const Conv2DLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
