#include <bit>
#include <vector>

#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/affine.h"

namespace cairn::nn::cuda {
namespace {

// Normalization's coefficients; the scale is that of AffineLayer::ScaleOf.
void ReadStatistics(Context* context, int64_t channels, const float* mean, const float* variance,
                    float* scales, float* offsets) {
  ForEach(context, channels, [=] __device__(int64_t c) {
    const double scale = 1 / fmax(sqrt(static_cast<double>(variance[c])), 1e-7);
    scales[c] = static_cast<float>(scale);
    offsets[c] = static_cast<float>(-mean[c] * scale);
  });
}

// A null `offsets` means 0. Images may be integers.
void ScaleAndShift(Context* context, int64_t count, int64_t channels, const float* x,
                   bool is_integer, const float* scales, const float* offsets, float* y) {
  MapColumns<1, 1>(context, count / channels, channels, {{x}, {y}},
                   [=] __device__(int64_t c, const float* from, float* to) {
                     const float value =
                         is_integer ? static_cast<float>(std::bit_cast<int32_t>(from[0])) : from[0];
                     to[0] = value * scales[c] + (offsets == nullptr ? 0 : offsets[c]);
                   });
}

class AffineKernel final : public Kernel {
 public:
  AffineKernel(const AffineLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        channels_(layer.output().shape.empty() ? 1 : layer.output().shape.back()),
        count_(context.options.examples * ElementCount(layer.output().shape)),
        is_integer_(layer.inputs()[0].type != proto::FLOAT32),
        scales_(context.cuda, channels_),
        offsets_(context.cuda, channels_) {
    if (layer.has_variables()) return;
    Spread(layer.scales(), scales_.data());
    Spread(layer.offsets(), offsets_.data());
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    if (layer_.has_variables()) {
      ReadStatistics(context_, channels_, arguments.variables[0], arguments.variables[1],
                     scales_.data(), offsets_.data());
    }
    ScaleAndShift(context_, count_, channels_, arguments.inputs[0], is_integer_, scales_.data(),
                  offsets_.data(), arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    ScaleAndShift(context_, count_, channels_, arguments.output_gradient, /*is_integer=*/false,
                  scales_.data(), /*offsets=*/nullptr, arguments.input_gradients[0]);
  }

 private:
  // Expands one number for all channels, or one per channel, to one per channel.
  void Spread(const std::vector<double>& numbers, float* to) {
    std::vector<float> spread(channels_);
    for (int64_t c = 0; c < channels_; ++c) {
      spread[c] = static_cast<float>(numbers[numbers.size() == 1 ? 0 : c]);
    }
    context_->Upload(to, spread);
  }

  Context* const context_;
  const AffineLayer& layer_;
  const int64_t channels_;
  const int64_t count_;
  const bool is_integer_;
  DeviceArray<float> scales_;
  DeviceArray<float> offsets_;
};

}  // namespace

std::unique_ptr<Kernel> CreateAffineKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<AffineKernel>(static_cast<const AffineLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
