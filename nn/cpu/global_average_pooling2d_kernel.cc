#include "nn/cpu/global_average_pooling2d_kernel.h"

#include "common/simd.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void AverageRows(int64_t rows, int64_t width, const float* values, float* averages) {
  for (int64_t c = 0; c < width; ++c) averages[c] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < width; ++c) averages[c] += values[row * width + c];
  }
  const float scale = 1.0f / static_cast<float>(rows);
  for (int64_t c = 0; c < width; ++c) averages[c] *= scale;
}

CAIRN_SIMD void SpreadOverRows(int64_t rows, int64_t width, const float* values, float* out) {
  const float scale = 1.0f / static_cast<float>(rows);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < width; ++c) out[row * width + c] = scale * values[c];
  }
}

class GlobalAveragePooling2DKernel : public Kernel {
 public:
  GlobalAveragePooling2DKernel(const Layer& layer, const KernelContext& context)
      : examples_(context.options.examples),
        channels_(layer.inputs()[0].shape[2]),
        positions_(layer.inputs()[0].shape[0] * layer.inputs()[0].shape[1]) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    for (int64_t i = 0; i < examples_; ++i) {
      AverageRows(positions_, channels_, arguments.inputs[0] + i * positions_ * channels_,
                  arguments.output + i * channels_);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    for (int64_t i = 0; i < examples_; ++i) {
      SpreadOverRows(positions_, channels_, arguments.output_gradient + i * channels_,
                     gradient + i * positions_ * channels_);
    }
  }

 private:
  const int64_t examples_;
  const int64_t channels_;
  const int64_t positions_;
};

}  // namespace

std::unique_ptr<Kernel> CreateGlobalAveragePooling2DKernel(const Layer& layer,
                                                           const KernelContext& context) {
  return std::make_unique<GlobalAveragePooling2DKernel>(layer, context);
}

}  // namespace cairn::nn
