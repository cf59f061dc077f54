#include "nn/cpu/conv2d_kernel.h"

#include "nn/cpu/activation_function.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/column_sum.h"
#include "nn/cpu/convolution.h"
#include "nn/layers/conv2d.h"

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
          .training = context.options.training};
}

class Conv2DKernel : public Kernel {
 public:
  Conv2DKernel(const Conv2DLayer& layer, const KernelContext& context)
      : filters_(layer.output().shape.back()),
        rows_(context.options.examples * ElementCount(layer.output().shape) / filters_),
        use_bias_(layer.use_bias()),
        activation_(layer.activation()),
        convolution_(ConvolutionOptions(layer, context), context.dnnl),
        column_sums_(filters_) {
    if (context.options.training && !activation_.differentiates_from_output()) {
      before_activation_ = AlignedBuffer<float>(rows_ * filters_);
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    float* sums = arguments.output;
    if (before_activation_.get() != nullptr) sums = before_activation_.get();
    const float* bias = use_bias_ ? arguments.variables[1] : nullptr;
    convolution_.Forward(arguments.inputs[0], arguments.variables[0], bias, sums);
    if (!activation_.is_plain_relu()) {
      ApplyActivation(activation_, rows_, filters_, sums, arguments.output);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    if (!arguments.before_activation) {
      MultiplyByDerivative(activation_, rows_, filters_, before_activation_.get(), arguments.output,
                           gradient);
    }
    if (float* kernel = arguments.variable_gradients[0]) {
      convolution_.KernelGradient(arguments.inputs[0], gradient, kernel);
    }
    if (float* bias = use_bias_ ? arguments.variable_gradients[1] : nullptr) {
      SumColumns(rows_, filters_, gradient, column_sums_.get(), bias);
    }
    if (float* input = arguments.input_gradients[0]) {
      convolution_.InputGradient(gradient, arguments.variables[0], input);
    }
  }

 private:
  const int64_t filters_;
  const int64_t rows_;
  const bool use_bias_;
  const Activation activation_;
  Convolution convolution_;
  AlignedBuffer<double> column_sums_;
  // Kept only for activations whose derivative needs it.
  AlignedBuffer<float> before_activation_;
};

}  // namespace

std::unique_ptr<Kernel> CreateConv2DKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<Conv2DKernel>(static_cast<const Conv2DLayer&>(layer), context);
}

}  // namespace cairn::nn
