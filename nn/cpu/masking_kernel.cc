#include <algorithm>
#include <vector>

#include "nn/cpu/kernels.h"
#include "nn/layers/masking.h"

namespace cairn::nn {
namespace {

class MaskingKernel : public Kernel {
 public:
  MaskingKernel(const MaskingLayer& layer, const KernelContext& context)
      : layer_(layer), mask_(context.options.examples * layer.steps()) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const int64_t width = layer_.width();
    for (size_t step = 0; step < mask_.size(); ++step) {
      const float* row = arguments.inputs[0] + step * width;
      const bool is_valid = std::any_of(
          row, row + width, [this](float value) { return value != layer_.mask_value(); });
      mask_[step] = is_valid ? 1 : 0;
      float* to = arguments.output + step * width;
      if (is_valid) {
        std::copy_n(row, width, to);
      } else {
        std::fill_n(to, width, 0.0f);
      }
    }
    std::copy(mask_.begin(), mask_.end(), arguments.mask_output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    const int64_t width = layer_.width();
    for (size_t step = 0; step < mask_.size(); ++step) {
      const float* from = arguments.output_gradient + step * width;
      for (int64_t i = 0; i < width; ++i) {
        gradient[step * width + i] = mask_[step] == 0 ? 0 : from[i];
      }
    }
  }

 private:
  const MaskingLayer& layer_;
  // That of the last Forward.
  std::vector<int32_t> mask_;
};

}  // namespace

std::unique_ptr<Kernel> CreateMaskingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<MaskingKernel>(static_cast<const MaskingLayer&>(layer), context);
}

}  // namespace cairn::nn
