#include "nn/cpu/activation_tail.h"
#include "nn/cpu/create_convolution.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/conv2d_transpose.h"

namespace cairn::nn {
namespace {

// The convolution from the layer's output to its input. The layer's forward pass is that
// convolution's input gradient.
Convolution::Options UnderlyingConvolution(const Conv2DTransposeLayer& layer,
                                           const KernelContext& context) {
  return {.examples = context.options.examples,
          .input = layer.output_image(),
          .output = layer.input_image(),
          .window = layer.window(),
          .training = true};
}

class Conv2DTransposeKernel : public Kernel {
 public:
  Conv2DTransposeKernel(const Conv2DTransposeLayer& layer, const KernelContext& context)
      : use_bias_(layer.use_bias()),
        convolution_(CreateConvolution(UnderlyingConvolution(layer, context), context.dnnl)),
        tail_(layer.activation(),
              context.options.examples * layer.output_image()[0] * layer.output_image()[1],
              layer.output_image()[2], context.options.training) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    convolution_->InputGradient(arguments.inputs[0], arguments.variables[0],
                                tail_.Target(arguments.output, arguments.logits));
    tail_.Forward(use_bias_ ? arguments.variables[1] : nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    tail_.Backward(arguments, gradient, use_bias_ ? arguments.variable_gradients[1] : nullptr);
    if (float* kernel = arguments.variable_gradients[0]) {
      convolution_->KernelGradient(gradient, arguments.inputs[0], kernel);
    }
    if (float* input = arguments.input_gradients[0]) {
      convolution_->Forward(gradient, arguments.variables[0], nullptr, input);
    }
  }

 private:
  const bool use_bias_;
  const std::unique_ptr<Convolution> convolution_;
  ActivationTail tail_;
};

}  // namespace

std::unique_ptr<Kernel> CreateConv2DTransposeKernel(const Layer& layer,
                                                    const KernelContext& context) {
  return std::make_unique<Conv2DTransposeKernel>(static_cast<const Conv2DTransposeLayer&>(layer),
                                                 context);
}

}  // namespace cairn::nn
