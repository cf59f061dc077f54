#include "nn/cpu/add_kernel.h"

#include <cstring>

#include "common/simd.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void AddTo(int64_t count, const float* from, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

class AddKernel : public Kernel {
 public:
  AddKernel(const Layer& layer, const KernelContext& context)
      : count_(context.options.examples * ElementCount(layer.output().shape)) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    std::memcpy(arguments.output, arguments.inputs[0], count_ * sizeof(float));
    for (const float* input : arguments.inputs.subspan(1)) AddTo(count_, input, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    for (float* gradient : arguments.input_gradients) {
      if (gradient == nullptr) continue;
      std::memcpy(gradient, arguments.output_gradient, count_ * sizeof(float));
    }
  }

 private:
  const int64_t count_;
};

}  // namespace

std::unique_ptr<Kernel> CreateAddKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<AddKernel>(layer, context);
}

}  // namespace cairn::nn
