#include "nn/cuda/float_input.h"
#include "nn/cuda/interpolation.h"
#include "nn/cuda/kernels.h"
#include "nn/layers/resizing.h"

namespace cairn::nn::cuda {
namespace {

class ResizingKernel final : public Kernel {
 public:
  ResizingKernel(const ResizingLayer& layer, const KernelContext& context)
      : examples_(context.options.examples),
        input_(layer.inputs()[0], examples_, context.cuda),
        interpolation_(layer.resize(), layer.output().shape.back(), context.cuda) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    interpolation_.Forward(examples_, input_.Get(arguments.inputs[0]), arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    interpolation_.Backward(examples_, arguments.output_gradient, arguments.input_gradients[0]);
  }

 private:
  const int64_t examples_;
  const FloatInput input_;
  const Interpolation interpolation_;
};

}  // namespace

std::unique_ptr<Kernel> CreateResizingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<ResizingKernel>(static_cast<const ResizingLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
