#include "nn/cpu/dense_kernel.h"

#include <optional>

#include "nn/cpu/activation_function.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/column_sum.h"
#include "nn/cpu/dense_product.h"
#include "nn/layers/dense.h"

namespace cairn::nn {
namespace {

class DenseKernel : public Kernel {
 public:
  DenseKernel(const DenseLayer& layer, const KernelContext& context)
      : rows_(context.options.examples * ElementCount(layer.output().shape) / layer.units()),
        units_(layer.units()),
        use_bias_(layer.use_bias()),
        activation_(layer.activation()),
        product_({.rows = rows_,
                  .columns = units_,
                  .inner = layer.input_width(),
                  .adds_bias = use_bias_,
                  .applies_relu = activation_.is_plain_relu()},
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
    column_sums_ = AlignedBuffer<double>(units_);
    if (!activation_.differentiates_from_output()) {
      before_activation_ = AlignedBuffer<float>(rows_ * units_);
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    float* product = arguments.output;
    if (before_activation_.get() != nullptr) product = before_activation_.get();
    const float* bias = use_bias_ ? arguments.variables[1] : nullptr;
    product_.Run(arguments.inputs[0], arguments.variables[0], bias, product);
    if (!activation_.is_plain_relu()) {
      ApplyActivation(activation_, rows_, units_, product, arguments.output);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.output_gradient;
    if (!arguments.before_activation) {
      MultiplyByDerivative(activation_, rows_, units_, before_activation_.get(), arguments.output,
                           gradient);
    }
    if (float* kernel = arguments.variable_gradients[0]) {
      kernel_gradient_->Run(arguments.inputs[0], gradient, nullptr, kernel);
    }
    if (float* bias = use_bias_ ? arguments.variable_gradients[1] : nullptr) {
      SumColumns(rows_, units_, gradient, column_sums_.get(), bias);
    }
    if (float* input = arguments.input_gradients[0]) {
      input_gradient_->Run(gradient, arguments.variables[0], nullptr, input);
    }
  }

 private:
  const int64_t rows_;
  const int64_t units_;
  const bool use_bias_;
  const Activation activation_;
  DenseProduct product_;
  std::optional<DenseProduct> kernel_gradient_;
  std::optional<DenseProduct> input_gradient_;
  AlignedBuffer<double> column_sums_;
  // Kept only for activations whose derivative needs it.
  AlignedBuffer<float> before_activation_;
};

}  // namespace

std::unique_ptr<Kernel> CreateDenseKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<DenseKernel>(static_cast<const DenseLayer&>(layer), context);
}

}  // namespace cairn::nn
