#include "nn/cuda/activation_tail.h"
#include "nn/cuda/convolution.h"
#include "nn/cuda/kernels.h"
#include "nn/layers/separable_conv2d.h"

namespace cairn::nn::cuda {
namespace {

class SeparableConv2DKernel final : public Kernel {
 public:
  SeparableConv2DKernel(const SeparableConv2DLayer& layer, const KernelContext& context)
      : use_bias_(layer.use_bias()),
        depthwise_({.examples = context.options.examples,
                    .input = layer.input_image(),
                    .output = layer.between_image(),
                    .window = layer.window(),
                    .groups = layer.input_image()[2]},
                   context.cuda),
        pointwise_({.examples = context.options.examples,
                    .input = layer.between_image(),
                    .output = layer.output_image()},
                   context.cuda),
        between_(context.cuda, context.options.examples * ElementCount(layer.between_image())),
        between_gradient_(context.cuda,
                          context.options.training
                              ? context.options.examples * ElementCount(layer.between_image())
                              : 0),
        tail_(context.cuda, layer.activation(),
              context.options.examples * layer.output_image()[0] * layer.output_image()[1],
              layer.output_image()[2], context.options.training) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    depthwise_.Forward(arguments.inputs[0], arguments.variables[0], between_.data());
    pointwise_.Forward(between_.data(), arguments.variables[1], tail_.Target(arguments.output));
    tail_.Forward(use_bias_ ? arguments.variables[2] : nullptr, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.output_gradient;
    tail_.Backward(arguments.output, arguments.before_activation, gradient,
                   use_bias_ ? arguments.variable_gradients[2] : nullptr);
    if (float* kernel = arguments.variable_gradients[1]) {
      pointwise_.KernelGradient(between_.data(), gradient, kernel);
    }
    float* const depthwise_kernel = arguments.variable_gradients[0];
    float* const input = arguments.input_gradients[0];
    if (depthwise_kernel == nullptr && input == nullptr) return;
    pointwise_.InputGradient(gradient, arguments.variables[1], between_gradient_.data());
    if (depthwise_kernel != nullptr) {
      depthwise_.KernelGradient(arguments.inputs[0], between_gradient_.data(), depthwise_kernel);
    }
    if (input != nullptr) {
      depthwise_.InputGradient(between_gradient_.data(), arguments.variables[0], input);
    }
  }

 private:
  const bool use_bias_;
  Convolution depthwise_;
  Convolution pointwise_;
  DeviceArray<float> between_;
  DeviceArray<float> between_gradient_;
  ActivationTail tail_;
};

}  // namespace

std::unique_ptr<Kernel> CreateSeparableConv2DKernel(const Layer& layer,
                                                    const KernelContext& context) {
  return std::make_unique<SeparableConv2DKernel>(static_cast<const SeparableConv2DLayer&>(layer),
                                                 context);
}

}  // namespace cairn::nn::cuda
