#include "nn/cpu/activation_kernel.h"

#include <cstring>

#include "nn/cpu/activation_function.h"

namespace cairn::nn {
namespace {

class ActivationKernel : public Kernel {
 public:
  ActivationKernel(const Layer& layer, const KernelContext& context)
      : activation_(layer.activation()),
        width_(layer.output().shape.back()),
        rows_(context.options.examples * ElementCount(layer.output().shape) / width_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    ApplyActivation(activation_, rows_, width_, arguments.inputs[0], arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    std::memcpy(gradient, arguments.output_gradient, rows_ * width_ * sizeof(float));
    if (arguments.before_activation) return;
    MultiplyByDerivative(activation_, rows_, width_, arguments.inputs[0], arguments.output,
                         gradient);
  }

 private:
  const Activation activation_;
  const int64_t width_;
  const int64_t rows_;
};

}  // namespace

std::unique_ptr<Kernel> CreateActivationKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<ActivationKernel>(layer, context);
}

}  // namespace cairn::nn
