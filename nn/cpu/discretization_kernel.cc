#include <algorithm>

#include "nn/cpu/float_input.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/discretization.h"

namespace cairn::nn {
namespace {

class DiscretizationKernel : public Kernel {
 public:
  DiscretizationKernel(const DiscretizationLayer& layer, const KernelContext& context)
      : layer_(layer),
        count_(context.options.examples * ElementCount(layer.inputs()[0].shape)),
        input_(layer.inputs()[0], context.options.examples) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    using Mode = DiscretizationLayer::Mode;
    const float* values = input_.Get(arguments.inputs[0]);
    if (layer_.mode() == Mode::kInt) {
      for (int64_t i = 0; i < count_; ++i) {
        arguments.output[i] = static_cast<float>(layer_.BinOf(values[i]));
      }
      return absl::OkStatus();
    }
    std::fill_n(arguments.output, count_ / layer_.group() * layer_.bins(), 0.0f);
    for (int64_t i = 0; i < count_; ++i) {
      float& element =
          arguments.output[i / layer_.group() * layer_.bins() + layer_.BinOf(values[i])];
      element = layer_.mode() == Mode::kCount ? element + 1 : 1;
    }
    return absl::OkStatus();
  }

  // Bins are constant almost everywhere.
  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient != nullptr) std::fill_n(gradient, count_, 0.0f);
  }

 private:
  const DiscretizationLayer& layer_;
  const int64_t count_;
  FloatInput input_;
};

}  // namespace

std::unique_ptr<Kernel> CreateDiscretizationKernel(const Layer& layer,
                                                   const KernelContext& context) {
  return std::make_unique<DiscretizationKernel>(static_cast<const DiscretizationLayer&>(layer),
                                                context);
}

}  // namespace cairn::nn
