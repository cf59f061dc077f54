#include "nn/cpu/activation_tail.h"
#include "nn/cpu/create_convolution.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/conv2d.h"
#include "nn/layers/rearranging.h"

namespace cairn::nn {
namespace {

Convolution::Options ConvolutionOptions(const Conv2DLayer& layer, const KernelContext& context) {
  return {.examples = context.options.examples,
          .input = layer.input_image(),
          .output = layer.output_image(),
          .window = layer.window(),
          .groups = layer.groups(),
          .adds_bias = layer.use_bias(),
          .applies_relu = layer.activation().is_plain_relu(),
          .training = context.options.training,
          .needs_input_gradient = context.options.needs_input_gradient};
}

// The convolution's options with the padding of the preceding ZeroPadding2D added to its own.
Convolution::Options PaddedOptions(const RearrangingLayer& padding, const Conv2DLayer& layer,
                                   const KernelContext& context) {
  Convolution::Options options = ConvolutionOptions(layer, context);
  options.input = padding.inputs()[0].shape;
  for (int axis : {0, 1}) {
    const AxisMapping& mapping = padding.mappings()[axis];
    options.window.padding_before[axis] += mapping.offset;
    options.window.padding_after[axis] += mapping.length - mapping.offset - mapping.input_length;
  }
  return options;
}

class Conv2DKernel : public Kernel {
 public:
  Conv2DKernel(const Conv2DLayer& layer, const Convolution::Options& options,
               const KernelContext& context)
      : use_bias_(layer.use_bias()),
        applies_relu_(options.applies_relu),
        convolution_(CreateConvolution(options, context.dnnl)),
        tail_(layer.activation(), options.examples * options.output[0] * options.output[1],
              options.output[2], options.training) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* bias = use_bias_ ? arguments.variables[1] : nullptr;
    convolution_->Forward(arguments.inputs[0], arguments.variables[0], bias,
                          tail_.Target(arguments.output, arguments.logits));
    // Bias and a plain ReLU are part of the convolution.
    if (!applies_relu_) tail_.Forward(/*bias=*/nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    tail_.Backward(arguments, gradient, use_bias_ ? arguments.variable_gradients[1] : nullptr);
    if (float* kernel = arguments.variable_gradients[0]) {
      convolution_->KernelGradient(arguments.inputs[0], gradient, kernel);
    }
    if (float* input = arguments.input_gradients[0]) {
      convolution_->InputGradient(gradient, arguments.variables[0], input);
    }
  }

 private:
  const bool use_bias_;
  const bool applies_relu_;
  const std::unique_ptr<Convolution> convolution_;
  ActivationTail tail_;
};

}  // namespace

std::unique_ptr<Kernel> CreateConv2DKernel(const Layer& layer, const KernelContext& context) {
  const auto& conv = static_cast<const Conv2DLayer&>(layer);
  return std::make_unique<Conv2DKernel>(conv, ConvolutionOptions(conv, context), context);
}

std::unique_ptr<Kernel> CreatePaddedConv2DKernel(const Layer& padding,
                                                 const KernelContext& context) {
  const auto& conv = static_cast<const Conv2DLayer&>(*context.options.next);
  return std::make_unique<Conv2DKernel>(
      conv, PaddedOptions(static_cast<const RearrangingLayer&>(padding), conv, context), context);
}

}  // namespace cairn::nn
