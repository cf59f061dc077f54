#include <optional>

#include "nn/cpu/activation_tail.h"
#include "nn/cpu/dense_product.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/dense.h"

namespace cairn::nn {
namespace {

class DenseKernel : public Kernel {
 public:
  DenseKernel(const DenseLayer& layer, const KernelContext& context)
      : rows_(context.options.examples * ElementCount(layer.output().shape) / layer.units()),
        units_(layer.units()),
        use_bias_(layer.use_bias()),
        applies_relu_(layer.activation().is_plain_relu()),
        tail_(layer.activation(), rows_, layer.units(), context.options.training),
        product_({.rows = rows_,
                  .columns = units_,
                  .inner = layer.input_width(),
                  .adds_bias = use_bias_,
                  .applies_relu = applies_relu_},
                 context.dnnl) {
    if (!context.options.training) return;
    kernel_gradient_.emplace(
        DenseProduct::Options{
            .rows = layer.input_width(), .columns = units_, .inner = rows_, .a_transposed = true},
        context.dnnl);
    input_gradient_.emplace(
        DenseProduct::Options{
            .rows = rows_, .columns = layer.input_width(), .inner = units_, .b_transposed = true},
        context.dnnl);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* bias = use_bias_ ? arguments.variables[1] : nullptr;
    product_.Run(arguments.inputs[0], arguments.variables[0], bias,
                 tail_.Target(arguments.output, arguments.logits));
    if (!applies_relu_) tail_.Forward(/*bias=*/nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    tail_.Backward(arguments, gradient, use_bias_ ? arguments.variable_gradients[1] : nullptr);
    if (float* kernel = arguments.variable_gradients[0]) {
      kernel_gradient_->Run(arguments.inputs[0], gradient, nullptr, kernel);
    }
    if (float* input = arguments.input_gradients[0]) {
      input_gradient_->Run(gradient, arguments.variables[0], nullptr, input);
    }
  }

 private:
  const int64_t rows_;
  const int64_t units_;
  const bool use_bias_;
  const bool applies_relu_;
  ActivationTail tail_;
  DenseProduct product_;
  std::optional<DenseProduct> kernel_gradient_;
  std::optional<DenseProduct> input_gradient_;
};

}  // namespace

std::unique_ptr<Kernel> CreateDenseKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<DenseKernel>(static_cast<const DenseLayer&>(layer), context);
}

}  // namespace cairn::nn
