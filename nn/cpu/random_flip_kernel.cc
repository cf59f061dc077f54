#include <cstring>

#include "nn/cpu/float_input.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/random_flip.h"

namespace cairn::nn {
namespace {

class RandomFlipKernel : public Kernel {
 public:
  RandomFlipKernel(const RandomFlipLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        height_(layer.output().shape[0]),
        width_(layer.output().shape[1]),
        channels_(layer.output().shape[2]),
        input_(layer.inputs()[0], examples_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* images = input_.Get(arguments.inputs[0]);
    if (arguments.training) {
      Flip(arguments.random_key, images, arguments.output);
    } else {
      std::memcpy(arguments.output, images,
                  examples_ * height_ * width_ * channels_ * sizeof(float));
    }
    return absl::OkStatus();
  }

  // A flip is its own inverse.
  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient != nullptr) Flip(arguments.random_key, arguments.output_gradient, gradient);
  }

 private:
  void Flip(uint64_t key, const float* from, float* to) const {
    for (int64_t example = 0; example < examples_; ++example) {
      const bool rows = layer_.flips_rows() && RandomFlipLayer::Flips(key, example, 0);
      const bool columns = layer_.flips_columns() && RandomFlipLayer::Flips(key, example, 1);
      const float* image = from + example * height_ * width_ * channels_;
      for (int64_t y = 0; y < height_; ++y) {
        for (int64_t x = 0; x < width_; ++x) {
          const int64_t row = rows ? height_ - 1 - y : y;
          const int64_t column = columns ? width_ - 1 - x : x;
          std::memcpy(to, image + (row * width_ + column) * channels_, channels_ * sizeof(float));
          to += channels_;
        }
      }
    }
  }

  const RandomFlipLayer& layer_;
  const int64_t examples_;
  const int64_t height_;
  const int64_t width_;
  const int64_t channels_;
  FloatInput input_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomFlipKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomFlipKernel>(static_cast<const RandomFlipLayer&>(layer), context);
}

}  // namespace cairn::nn
