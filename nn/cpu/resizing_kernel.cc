#include <cstring>

#include "nn/cpu/float_input.h"
#include "nn/cpu/interpolation.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/resizing.h"

namespace cairn::nn {
namespace {

class ResizingKernel : public Kernel {
 public:
  ResizingKernel(const ResizingLayer& layer, const KernelContext& context)
      : examples_(context.options.examples),
        input_count_(ElementCount(layer.inputs()[0].shape)),
        output_count_(ElementCount(layer.output().shape)),
        input_(layer.inputs()[0], examples_),
        interpolation_(layer.resize(), layer.output().shape.back()) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* images = input_.Get(arguments.inputs[0]);
    for (int64_t i = 0; i < examples_; ++i) {
      interpolation_.Forward(images + i * input_count_, arguments.output + i * output_count_);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    std::memset(gradient, 0, examples_ * input_count_ * sizeof(float));
    for (int64_t i = 0; i < examples_; ++i) {
      interpolation_.AddGradient(arguments.output_gradient + i * output_count_,
                                 gradient + i * input_count_);
    }
  }

 private:
  const int64_t examples_;
  const int64_t input_count_;
  const int64_t output_count_;
  FloatInput input_;
  const Interpolation interpolation_;
};

}  // namespace

std::unique_ptr<Kernel> CreateResizingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<ResizingKernel>(static_cast<const ResizingLayer&>(layer), context);
}

}  // namespace cairn::nn
