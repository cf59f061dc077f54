#include "nn/cuda/activation_function.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/operations.h"

namespace cairn::nn::cuda {
namespace {

class ActivationKernel final : public Kernel {
 public:
  ActivationKernel(const Layer& layer, const KernelContext& context)
      : context_(context.cuda),
        activation_(layer.activation()),
        width_(layer.output().shape.back()),
        rows_(context.options.examples * ElementCount(layer.output().shape) / width_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    ApplyActivation(context_, activation_, rows_, width_, arguments.inputs[0], /*bias=*/nullptr,
                    arguments.logits, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    if (arguments.before_activation) {
      context_->Copy(gradient, arguments.output_gradient, rows_ * width_ * sizeof(float));
    } else {
      MultiplyByDerivative(context_, activation_, rows_, width_, arguments.inputs[0],
                           arguments.output, arguments.output_gradient, gradient);
      if (arguments.logits_gradient != nullptr) {
        Add(context_, rows_ * width_, arguments.logits_gradient, gradient);
      }
    }
  }

 private:
  Context* const context_;
  const Activation activation_;
  const int64_t width_;
  const int64_t rows_;
};

}  // namespace

std::unique_ptr<Kernel> CreateActivationKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<ActivationKernel>(layer, context);
}

}  // namespace cairn::nn::cuda
