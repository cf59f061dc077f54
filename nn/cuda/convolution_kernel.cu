#include "nn/cuda/activation_tail.h"
#include "nn/cuda/convolution.h"
#include "nn/cuda/kernels.h"
#include "nn/layers/conv2d.h"
#include "nn/layers/conv2d_transpose.h"
#include "nn/layers/conv3d.h"
#include "nn/layers/separable_conv2d.h"

namespace cairn::nn::cuda {
namespace {

// output = activation(conv(input, kernel) + bias), or with the transposed map of a convolution: the
// one from the layer's output to its input, whose input gradient is the layer's forward pass.
class ConvolutionKernel final : public Kernel {
 public:
  struct Options {
    Convolution::Options convolution;
    bool is_transposed = false;
    bool use_bias = false;
    Activation activation;
  };

  ConvolutionKernel(const Options& options, const KernelContext& context)
      : is_transposed_(options.is_transposed),
        use_bias_(options.use_bias),
        convolution_(options.convolution, context.cuda),
        tail_(context.cuda, options.activation, PixelsOf(options), OutputOf(options).back(),
              context.options.training) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* const kernel = arguments.variables[0];
    float* const target = tail_.Target(arguments.output, arguments.logits);
    is_transposed_ ? convolution_.InputGradient(arguments.inputs[0], kernel, target)
                   : convolution_.Forward(arguments.inputs[0], kernel, target);
    tail_.Forward(use_bias_ ? arguments.variables[1] : nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    const float* const input = arguments.inputs[0];
    float* const gradient = arguments.output_gradient;
    tail_.Backward(arguments, gradient, use_bias_ ? arguments.variable_gradients[1] : nullptr);
    if (float* kernel = arguments.variable_gradients[0]) {
      is_transposed_ ? convolution_.KernelGradient(gradient, input, kernel)
                     : convolution_.KernelGradient(input, gradient, kernel);
    }
    if (float* by_input = arguments.input_gradients[0]) {
      is_transposed_ ? convolution_.Forward(gradient, arguments.variables[0], by_input)
                     : convolution_.InputGradient(gradient, arguments.variables[0], by_input);
    }
  }

 private:
  // The layer's output.
  static const Shape& OutputOf(const Options& options) {
    return options.is_transposed ? options.convolution.input : options.convolution.output;
  }
  static int64_t PixelsOf(const Options& options) {
    const Shape& output = OutputOf(options);
    return options.convolution.examples * ElementCount(output) / output.back();
  }

  const bool is_transposed_;
  const bool use_bias_;
  Convolution convolution_;
  ActivationTail tail_;
};

// A depthwise convolution, then a pointwise one. The variables of the first are before those of the
// second.
class SeparableConv2DKernel final : public Kernel {
 public:
  SeparableConv2DKernel(const SeparableConv2DLayer& layer, const KernelContext& context)
      : depthwise_({.examples = context.options.examples,
                    .input = layer.input_image(),
                    .output = layer.between_image(),
                    .window = layer.window(),
                    .groups = layer.input_image()[2]},
                   context.cuda),
        pointwise_({.convolution = {.examples = context.options.examples,
                                    .input = layer.between_image(),
                                    .output = layer.output_image()},
                    .use_bias = layer.use_bias(),
                    .activation = layer.activation()},
                   context),
        between_(context.cuda, context.options.examples * ElementCount(layer.between_image())),
        between_gradient_(context.cuda,
                          context.options.training
                              ? context.options.examples * ElementCount(layer.between_image())
                              : 0) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    depthwise_.Forward(arguments.inputs[0], arguments.variables[0], between_.data());
    const float* const between = between_.data();
    return pointwise_.Forward({.inputs = {&between, 1},
                               .output = arguments.output,
                               .logits = arguments.logits,
                               .variables = arguments.variables.subspan(1)});
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const kernel = arguments.variable_gradients[0];
    float* const input = arguments.input_gradients[0];
    const bool ends_here = kernel == nullptr && input == nullptr;
    const float* const between = between_.data();
    float* const by_between = ends_here ? nullptr : between_gradient_.data();
    pointwise_.Backward({.inputs = {&between, 1},
                         .output = arguments.output,
                         .variables = arguments.variables.subspan(1),
                         .output_gradient = arguments.output_gradient,
                         .before_activation = arguments.before_activation,
                         .logits_gradient = arguments.logits_gradient,
                         .input_gradients = {&by_between, 1},
                         .variable_gradients = arguments.variable_gradients.subspan(1)});
    if (kernel != nullptr) depthwise_.KernelGradient(arguments.inputs[0], by_between, kernel);
    if (input != nullptr) depthwise_.InputGradient(by_between, arguments.variables[0], input);
  }

 private:
  Convolution depthwise_;
  ConvolutionKernel pointwise_;
  DeviceArray<float> between_;
  DeviceArray<float> between_gradient_;
};

std::unique_ptr<Kernel> Create(const ConvolutionKernel::Options& options,
                               const KernelContext& context) {
  return std::make_unique<ConvolutionKernel>(options, context);
}

}  // namespace

std::unique_ptr<Kernel> CreateConv2DKernel(const Layer& layer, const KernelContext& context) {
  const auto& convolution = static_cast<const Conv2DLayer&>(layer);
  return Create({.convolution = {.examples = context.options.examples,
                                 .input = convolution.input_image(),
                                 .output = convolution.output_image(),
                                 .window = convolution.window(),
                                 .groups = convolution.groups()},
                 .use_bias = convolution.use_bias(),
                 .activation = convolution.activation()},
                context);
}

std::unique_ptr<Kernel> CreateConv2DTransposeKernel(const Layer& layer,
                                                    const KernelContext& context) {
  const auto& convolution = static_cast<const Conv2DTransposeLayer&>(layer);
  return Create({.convolution = {.examples = context.options.examples,
                                 .input = convolution.output_image(),
                                 .output = convolution.input_image(),
                                 .window = convolution.window()},
                 .is_transposed = true,
                 .use_bias = convolution.use_bias(),
                 .activation = convolution.activation()},
                context);
}

std::unique_ptr<Kernel> CreateConv3DKernel(const Layer& layer, const KernelContext& context) {
  const auto& convolution = static_cast<const Conv3DLayer&>(layer);
  const Shape& input = layer.inputs()[0].shape;
  const Shape& output = layer.output().shape;
  const bool is_transposed = convolution.is_transposed();
  return Create({.convolution = {.examples = context.options.examples,
                                 .input = is_transposed ? output : input,
                                 .output = is_transposed ? input : output,
                                 .window = convolution.window().plane,
                                 .depth_window = convolution.window().depth},
                 .is_transposed = is_transposed,
                 .use_bias = convolution.use_bias(),
                 .activation = convolution.activation()},
                context);
}

std::unique_ptr<Kernel> CreateSeparableConv2DKernel(const Layer& layer,
                                                    const KernelContext& context) {
  return std::make_unique<SeparableConv2DKernel>(static_cast<const SeparableConv2DLayer&>(layer),
                                                 context);
}

}  // namespace cairn::nn::cuda
