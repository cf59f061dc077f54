#include "nn/cuda/activation_tail.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/product.h"
#include "nn/layers/dense.h"

namespace cairn::nn::cuda {
namespace {

class DenseKernel final : public Kernel {
 public:
  DenseKernel(const DenseLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        rows_(context.options.examples * ElementCount(layer.output().shape) / layer.units()),
        units_(layer.units()),
        inputs_(layer.input_width()),
        use_bias_(layer.use_bias()),
        tail_(context.cuda, layer.activation(), rows_, units_, context.options.training) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    Multiply(context_, {.rows = rows_, .columns = units_, .inner = inputs_}, arguments.inputs[0],
             arguments.variables[0], tail_.Target(arguments.output, arguments.logits));
    tail_.Forward(use_bias_ ? arguments.variables[1] : nullptr, arguments.output, arguments.logits);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.output_gradient;
    tail_.Backward(arguments, gradient, use_bias_ ? arguments.variable_gradients[1] : nullptr);
    if (float* kernel = arguments.variable_gradients[0]) {
      Multiply(context_, {.rows = inputs_, .columns = units_, .inner = rows_, .a_transposed = true},
               arguments.inputs[0], gradient, kernel);
    }
    if (float* input = arguments.input_gradients[0]) {
      Multiply(context_, {.rows = rows_, .columns = inputs_, .inner = units_, .b_transposed = true},
               gradient, arguments.variables[0], input);
    }
  }

 private:
  Context* const context_;
  const int64_t rows_;
  const int64_t units_;
  const int64_t inputs_;
  const bool use_bias_;
  ActivationTail tail_;
};

}  // namespace

std::unique_ptr<Kernel> CreateDenseKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<DenseKernel>(static_cast<const DenseLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
