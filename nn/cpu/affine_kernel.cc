#include <vector>

#include "common/simd.h"
#include "nn/cpu/float_input.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/affine.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void ScaleAndShift(int64_t rows, int64_t channels, const float* x, const float* scale,
                              const float* shift, float* y) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      y[row * channels + c] = x[row * channels + c] * scale[c] + shift[c];
    }
  }
}

class AffineKernel : public Kernel {
 public:
  AffineKernel(const AffineLayer& layer, const KernelContext& context)
      : layer_(layer),
        channels_(layer.output().shape.empty() ? 1 : layer.output().shape.back()),
        rows_(context.options.examples * ElementCount(layer.output().shape) / channels_),
        input_(layer.inputs()[0], context.options.examples),
        scales_(channels_),
        offsets_(channels_),
        zeros_(channels_, 0.0f) {
    if (!layer.has_variables()) Spread(layer.scales(), layer.offsets());
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    if (layer_.has_variables()) ReadStatistics(arguments.variables[0], arguments.variables[1]);
    ScaleAndShift(rows_, channels_, input_.Get(arguments.inputs[0]), scales_.data(),
                  offsets_.data(), arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    ScaleAndShift(rows_, channels_, arguments.output_gradient, scales_.data(), zeros_.data(),
                  arguments.input_gradients[0]);
  }

 private:
  // Expands one number for all channels, or one per channel, to one per channel.
  void Spread(const std::vector<double>& scales, const std::vector<double>& offsets) {
    for (int64_t c = 0; c < channels_; ++c) {
      scales_[c] = static_cast<float>(scales[scales.size() == 1 ? 0 : c]);
      offsets_[c] = static_cast<float>(offsets[offsets.size() == 1 ? 0 : c]);
    }
  }

  void ReadStatistics(const float* mean, const float* variance) {
    for (int64_t c = 0; c < channels_; ++c) {
      const double scale = AffineLayer::ScaleOf(variance[c]);
      scales_[c] = static_cast<float>(scale);
      offsets_[c] = static_cast<float>(-mean[c] * scale);
    }
  }

  const AffineLayer& layer_;
  const int64_t channels_;
  const int64_t rows_;
  FloatInput input_;
  std::vector<float> scales_;
  std::vector<float> offsets_;
  const std::vector<float> zeros_;
};

}  // namespace

std::unique_ptr<Kernel> CreateAffineKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<AffineKernel>(static_cast<const AffineLayer&>(layer), context);
}

}  // namespace cairn::nn
