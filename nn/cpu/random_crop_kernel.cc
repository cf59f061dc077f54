#include <cstring>

#include "nn/cpu/float_input.h"
#include "nn/cpu/interpolation.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/random_crop.h"

namespace cairn::nn {
namespace {

class RandomCropKernel : public Kernel {
 public:
  RandomCropKernel(const RandomCropLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        input_count_(ElementCount(layer.inputs()[0].shape)),
        output_count_(ElementCount(layer.output().shape)),
        input_(layer.inputs()[0], examples_),
        middle_(layer.middle(), layer.output().shape[2]) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* images = input_.Get(arguments.inputs[0]);
    const bool crops = arguments.training && layer_.crops();
    for (int64_t i = 0; i < examples_; ++i) {
      const float* image = images + i * input_count_;
      float* output = arguments.output + i * output_count_;
      if (!crops) middle_.Forward(image, output);
      if (!crops) continue;
      ForEachRow(arguments.random_key, i, [&](int64_t in_image, int64_t in_part, int64_t count) {
        std::memcpy(output + in_part, image + in_image, count * sizeof(float));
      });
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    std::memset(arguments.input_gradients[0], 0, examples_ * input_count_ * sizeof(float));
    for (int64_t i = 0; i < examples_; ++i) {
      const float* from = arguments.output_gradient + i * output_count_;
      float* to = arguments.input_gradients[0] + i * input_count_;
      if (!layer_.crops()) middle_.AddGradient(from, to);
      if (!layer_.crops()) continue;
      ForEachRow(arguments.random_key, i, [&](int64_t in_image, int64_t in_part, int64_t count) {
        std::memcpy(to + in_image, from + in_part, count * sizeof(float));
      });
    }
  }

 private:
  // Calls visit(offset in the image, offset in the crop, count) for each row of a crop.
  template <typename Visit>
  void ForEachRow(uint64_t key, int64_t example, const Visit& visit) const {
    const Shape& part = layer_.output().shape;
    const int64_t top = layer_.Start(key, example, 0);
    const int64_t left = layer_.Start(key, example, 1);
    const int64_t image_width = layer_.inputs()[0].shape[1];
    for (int64_t row = 0; row < part[0]; ++row) {
      visit(((top + row) * image_width + left) * part[2], row * part[1] * part[2],
            part[1] * part[2]);
    }
  }

  const RandomCropLayer& layer_;
  const int64_t examples_;
  const int64_t input_count_;
  const int64_t output_count_;
  FloatInput input_;
  const Interpolation middle_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomCropKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomCropKernel>(static_cast<const RandomCropLayer&>(layer), context);
}

}  // namespace cairn::nn
