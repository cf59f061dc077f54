#include <vector>

#include "nn/cpu/kernels.h"
#include "nn/layers/axis_mapping.h"
#include "nn/layers/prelu.h"

namespace cairn::nn {
namespace {

class PReLUKernel : public Kernel {
 public:
  PReLUKernel(const PReLULayer& layer, const KernelContext& context)
      : examples_(context.options.examples),
        alphas_(
            SourcesOf(BroadcastMappings(layer.variables()[0].spec.shape, layer.output().shape))),
        sums_(layer.variables()[0].spec.element_count()) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* alpha = arguments.variables[0];
    const float* x = arguments.inputs[0];
    float* y = arguments.output;
    for (int64_t example = 0; example < examples_; ++example) {
      for (int64_t source : alphas_) {
        *y++ = *x > 0 ? *x : alpha[source] * *x;
        ++x;
      }
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    const float* alpha = arguments.variables[0];
    const float* x = arguments.inputs[0];
    const float* gradient = arguments.output_gradient;
    float* target = arguments.input_gradients[0];
    sums_.assign(sums_.size(), 0);
    for (int64_t example = 0; example < examples_; ++example) {
      for (int64_t source : alphas_) {
        const bool is_positive = *x > 0;
        if (target != nullptr) *target++ = is_positive ? *gradient : alpha[source] * *gradient;
        if (!is_positive) sums_[source] += static_cast<double>(*x) * *gradient;
        ++x;
        ++gradient;
      }
    }
    float* alpha_gradient = arguments.variable_gradients[0];
    if (alpha_gradient == nullptr) return;
    for (size_t i = 0; i < sums_.size(); ++i) alpha_gradient[i] = static_cast<float>(sums_[i]);
  }

 private:
  const int64_t examples_;
  // The index of each element's alpha.
  const std::vector<int64_t> alphas_;
  std::vector<double> sums_;
};

}  // namespace

std::unique_ptr<Kernel> CreatePReLUKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<PReLUKernel>(static_cast<const PReLULayer&>(layer), context);
}

}  // namespace cairn::nn
