#include "nn/cpu/activation_tail.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/create_convolution.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/separable_conv2d.h"

namespace cairn::nn {
namespace {

Convolution::Options Depthwise(const SeparableConv2DLayer& layer, const KernelContext& context) {
  return {.examples = context.options.examples,
          .input = layer.input_image(),
          .output = layer.between_image(),
          .window = layer.window(),
          .groups = layer.input_image()[2],
          .training = context.options.training};
}

Convolution::Options Pointwise(const SeparableConv2DLayer& layer, const KernelContext& context) {
  return {.examples = context.options.examples,
          .input = layer.between_image(),
          .output = layer.output_image(),
          .training = context.options.training};
}

class SeparableConv2DKernel : public Kernel {
 public:
  SeparableConv2DKernel(const SeparableConv2DLayer& layer, const KernelContext& context)
      : use_bias_(layer.use_bias()),
        depthwise_(CreateConvolution(Depthwise(layer, context), context.dnnl)),
        pointwise_(CreateConvolution(Pointwise(layer, context), context.dnnl)),
        between_(context.options.examples * ElementCount(layer.between_image())),
        tail_(layer.activation(),
              context.options.examples * layer.output_image()[0] * layer.output_image()[1],
              layer.output_image()[2], context.options.training) {
    if (!context.options.training) return;
    between_gradient_ =
        AlignedBuffer<float>(context.options.examples * ElementCount(layer.between_image()));
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    depthwise_->Forward(arguments.inputs[0], arguments.variables[0], nullptr, between_.get());
    pointwise_->Forward(between_.get(), arguments.variables[1], nullptr,
                        tail_.Target(arguments.output, arguments.logits));
    tail_.Forward(use_bias_ ? arguments.variables[2] : nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    tail_.Backward(arguments, gradient, use_bias_ ? arguments.variable_gradients[2] : nullptr);
    if (float* kernel = arguments.variable_gradients[1]) {
      pointwise_->KernelGradient(between_.get(), gradient, kernel);
    }
    float* depthwise_kernel = arguments.variable_gradients[0];
    float* input = arguments.input_gradients[0];
    if (depthwise_kernel == nullptr && input == nullptr) return;
    pointwise_->InputGradient(gradient, arguments.variables[1], between_gradient_.get());
    if (depthwise_kernel != nullptr) {
      depthwise_->KernelGradient(arguments.inputs[0], between_gradient_.get(), depthwise_kernel);
    }
    if (input != nullptr) {
      depthwise_->InputGradient(between_gradient_.get(), arguments.variables[0], input);
    }
  }

 private:
  const bool use_bias_;
  const std::unique_ptr<Convolution> depthwise_;
  const std::unique_ptr<Convolution> pointwise_;
  AlignedBuffer<float> between_;
  AlignedBuffer<float> between_gradient_;
  ActivationTail tail_;
};

}  // namespace

std::unique_ptr<Kernel> CreateSeparableConv2DKernel(const Layer& layer,
                                                    const KernelContext& context) {
  return std::make_unique<SeparableConv2DKernel>(static_cast<const SeparableConv2DLayer&>(layer),
                                                 context);
}

}  // namespace cairn::nn
