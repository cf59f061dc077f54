#include "nn/cuda/gather.h"
#include "nn/cuda/kernels.h"
#include "nn/layers/rearranging.h"

namespace cairn::nn::cuda {
namespace {

class RearrangingKernel final : public Kernel {
 public:
  RearrangingKernel(const RearrangingLayer& layer, const KernelContext& context)
      : examples_(context.options.examples),
        gather_(context.cuda, SourcesOf(layer.mappings()), ElementCount(layer.inputs()[0].shape)) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    gather_.Forward(examples_, arguments.inputs[0], arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    gather_.Backward(examples_, arguments.output_gradient, arguments.input_gradients[0]);
  }

 private:
  const int64_t examples_;
  const Gather gather_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRearrangingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RearrangingKernel>(static_cast<const RearrangingLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
