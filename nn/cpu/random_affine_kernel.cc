#include <algorithm>
#include <cmath>
#include <cstring>

#include "nn/cpu/float_input.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/parallel.h"
#include "nn/layers/random_affine.h"

namespace cairn::nn {
namespace {

using Fill = RandomAffineLayer::Fill;

// Moves a coordinate that is outside of the `length` pixels of an axis into them, as TensorFlow's
// ImageProjectiveTransformV3. With Fill::kConstant it stays.
double Inside(Fill fill, double at, int64_t length) {
  if (fill == Fill::kConstant) return at;
  const auto pixels = static_cast<double>(length);
  const double last = pixels - 1;
  if (fill != Fill::kNearest && length > 1 && (at < 0 || at > last)) {
    if (fill == Fill::kWrap) {
      at += at < 0 ? pixels * (std::floor(-at / last) + 1) : -pixels * std::floor(at / last);
    } else {
      at -= 2 * pixels * std::floor(at / (2 * pixels));
      if (at >= pixels) at = 2 * pixels - at - 1;
    }
  }
  return std::clamp(at, 0.0, last);
}

class RandomAffineKernel : public Kernel {
 public:
  RandomAffineKernel(const RandomAffineLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        height_(layer.output().shape[0]),
        width_(layer.output().shape[1]),
        channels_(layer.output().shape[2]),
        elements_(height_ * width_ * channels_),
        input_(layer.inputs()[0], examples_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* images = input_.Get(arguments.inputs[0]);
    if (!arguments.training || layer_.inference_only()) {
      std::memcpy(arguments.output, images, examples_ * elements_ * sizeof(float));
      return absl::OkStatus();
    }
    RunInParallel(examples_, [&](int64_t example) {
      const float* image = images + example * elements_;
      float* output = arguments.output + example * elements_;
      std::fill_n(output, elements_, 0.0f);
      ForEachPart(arguments.random_key, example, [&](int64_t from, int64_t to, float weight) {
        for (int64_t c = 0; c < channels_; ++c) {
          const float value =
              from < 0 ? static_cast<float>(layer_.fill_value()) : image[from * channels_ + c];
          output[to * channels_ + c] += weight * value;
        }
      });
    });
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradients = arguments.input_gradients[0];
    if (gradients == nullptr) return;
    if (layer_.inference_only()) {
      std::memcpy(gradients, arguments.output_gradient, examples_ * elements_ * sizeof(float));
      return;
    }
    RunInParallel(examples_, [&](int64_t example) {
      const float* by_output = arguments.output_gradient + example * elements_;
      float* gradient = gradients + example * elements_;
      std::fill_n(gradient, elements_, 0.0f);
      ForEachPart(arguments.random_key, example, [&](int64_t to, int64_t from, float weight) {
        for (int64_t c = 0; to >= 0 && c < channels_; ++c) {
          gradient[to * channels_ + c] += weight * by_output[from * channels_ + c];
        }
      });
    });
  }

 private:
  // Calls visit(input pixel, output pixel, weight) for each input pixel of each output pixel. An
  // input pixel outside of the image is -1.
  template <typename Visit>
  void ForEachPart(uint64_t key, int64_t example, const Visit& visit) const {
    const RandomAffineLayer::Map map = layer_.Draw(key, example);
    for (int64_t row = 0; row < height_; ++row) {
      for (int64_t column = 0; column < width_; ++column) {
        const auto at_row = static_cast<double>(row);
        const auto at_column = static_cast<double>(column);
        const double y = Inside(layer_.fill(), map.y(at_column, at_row), height_);
        const double x = Inside(layer_.fill(), map.x(at_column, at_row), width_);
        const int64_t output = row * width_ + column;
        if (layer_.nearest()) {
          visit(PixelAt(std::round(y), std::round(x)), output, 1.0f);
          continue;
        }
        const double top = std::floor(y);
        const double left = std::floor(x);
        const auto v = static_cast<float>(y - top);
        const auto u = static_cast<float>(x - left);
        const auto part = [&](double at_y, double at_x, float weight) {
          if (weight != 0) visit(PixelAt(at_y, at_x), output, weight);
        };
        part(top, left, (1 - v) * (1 - u));
        part(top, left + 1, (1 - v) * u);
        part(top + 1, left, v * (1 - u));
        part(top + 1, left + 1, v * u);
      }
    }
  }

  int64_t PixelAt(double y, double x) const {
    const bool is_inside =
        y >= 0 && x >= 0 && y < static_cast<double>(height_) && x < static_cast<double>(width_);
    return is_inside ? static_cast<int64_t>(y) * width_ + static_cast<int64_t>(x) : -1;
  }

  const RandomAffineLayer& layer_;
  const int64_t examples_;
  const int64_t height_;
  const int64_t width_;
  const int64_t channels_;
  const int64_t elements_;
  FloatInput input_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomAffineKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomAffineKernel>(static_cast<const RandomAffineLayer&>(layer),
                                              context);
}

}  // namespace cairn::nn
