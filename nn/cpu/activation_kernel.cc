#include <cstring>

#include "nn/cpu/activation_function.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/parallel.h"

namespace cairn::nn {
namespace {

class ActivationKernel : public Kernel {
 public:
  ActivationKernel(const Layer& layer, const KernelContext& context)
      : activation_(layer.activation()),
        width_(layer.output().shape.back()),
        pieces_(context.options.examples * ElementCount(layer.output().shape) / width_, width_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    pieces_.Run([&](int64_t begin, int64_t end) {
      const int64_t first = begin * width_;
      const float* const input = arguments.inputs[0] + first;
      ApplyActivation(activation_, end - begin, width_, input, arguments.output + first);
      if (arguments.logits == nullptr) return;
      std::memcpy(arguments.logits + first, input, (end - begin) * width_ * sizeof(float));
    });
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    pieces_.Run([&](int64_t begin, int64_t end) {
      const int64_t first = begin * width_;
      std::memcpy(gradient + first, arguments.output_gradient + first,
                  (end - begin) * width_ * sizeof(float));
      if (arguments.before_activation) return;
      MultiplyByDerivative(activation_, end - begin, width_, arguments.inputs[0] + first,
                           arguments.output + first, gradient + first);
      if (arguments.logits_gradient == nullptr) return;
      for (int64_t i = first; i < end * width_; ++i) gradient[i] += arguments.logits_gradient[i];
    });
  }

 private:
  const Activation activation_;
  const int64_t width_;
  const RowPieces pieces_;
};

}  // namespace

std::unique_ptr<Kernel> CreateActivationKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<ActivationKernel>(layer, context);
}

}  // namespace cairn::nn
