#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/random_images_kernel.h"
#include "nn/layers/random_affine.h"

namespace cairn::nn::cuda {
namespace {

using Fill = RandomAffineLayer::Fill;
using Map = RandomAffineLayer::Map;

struct Images {
  int64_t examples = 0;
  Divisor height;
  Divisor width;
  Divisor channels;
  Fill fill = Fill::kReflect;
  float fill_value = 0;
  bool nearest = false;

  int64_t count() const { return examples * height * width * channels; }
};

// As in nn/cpu/random_affine_kernel.cc.
__device__ double Inside(Fill fill, double at, int64_t length) {
  if (fill == Fill::kConstant) return at;
  const auto pixels = static_cast<double>(length);
  const double last = pixels - 1;
  if (fill != Fill::kNearest && length > 1 && (at < 0 || at > last)) {
    if (fill == Fill::kWrap) {
      at += at < 0 ? pixels * (floor(-at / last) + 1) : -pixels * floor(at / last);
    } else {
      at -= 2 * pixels * floor(at / (2 * pixels));
      if (at >= pixels) at = 2 * pixels - at - 1;
    }
  }
  return fmin(fmax(at, 0.0), last);
}

// The input pixels of an output pixel, and their weights. A pixel outside of the image is -1.
struct Parts {
  int64_t pixels[4];
  float weights[4];
};

__device__ int64_t PixelAt(const Images& images, double y, double x) {
  const bool is_inside = y >= 0 && x >= 0 && y < static_cast<double>(images.height) &&
                         x < static_cast<double>(images.width);
  return is_inside ? static_cast<int64_t>(y) * images.width + static_cast<int64_t>(x) : -1;
}

__device__ Parts PartsOf(const Images& images, const Map& map, int64_t row, int64_t column) {
  const auto at_row = static_cast<double>(row);
  const auto at_column = static_cast<double>(column);
  const double y = Inside(images.fill, map.y(at_column, at_row), images.height);
  const double x = Inside(images.fill, map.x(at_column, at_row), images.width);
  if (images.nearest) {
    return {{PixelAt(images, round(y), round(x)), -1, -1, -1}, {1, 0, 0, 0}};
  }
  const double top = floor(y);
  const double left = floor(x);
  const auto v = static_cast<float>(y - top);
  const auto u = static_cast<float>(x - left);
  return {{PixelAt(images, top, left), PixelAt(images, top, left + 1),
           PixelAt(images, top + 1, left), PixelAt(images, top + 1, left + 1)},
          {(1 - v) * (1 - u), (1 - v) * u, v * (1 - u), v * u}};
}

void Transform(Context* context, const Images& images, const Map* maps, const float* from,
               float* to) {
  ForEach(context, images.count(), [=] __device__(int64_t i) {
    const int64_t pixel = i / images.channels;
    const int64_t line = pixel / images.width;
    const int64_t example = line / images.height;
    const Parts parts =
        PartsOf(images, maps[example], line - example * images.height, pixel - line * images.width);
    const float* const image = from + example * images.height * images.width * images.channels + i -
                               pixel * images.channels;
    float sum = 0;
    CAIRN_UNROLL
    for (int k = 0; k < 4; ++k) {
      if (parts.weights[k] == 0) continue;
      const int64_t source = parts.pixels[k];
      sum += parts.weights[k] * (source < 0 ? images.fill_value : image[source * images.channels]);
    }
    to[i] = sum;
  });
}

// An input pixel may be a part of any output pixel, and sums need an order: each thread adds the
// gradients of one channel of an example, one after another. That is slow, and rare: random images
// are mostly a model's input, which needs no gradient.
void TransformGradient(Context* context, const Images& images, const Map* maps,
                       const float* gradient, float* to) {
  const int64_t pixels = images.height * images.width;
  ForEach(context, images.examples * images.channels, [=] __device__(int64_t i) {
    const int64_t example = i / images.channels;
    const int64_t first = example * (pixels - 1) * images.channels + i;
    for (int64_t row = 0; row < images.height; ++row) {
      for (int64_t column = 0; column < images.width; ++column) {
        const Parts parts = PartsOf(images, maps[example], row, column);
        const float value = gradient[first + (row * images.width + column) * images.channels];
        CAIRN_UNROLL
        for (int k = 0; k < 4; ++k) {
          if (parts.weights[k] == 0 || parts.pixels[k] < 0) continue;
          to[first + parts.pixels[k] * images.channels] += parts.weights[k] * value;
        }
      }
    }
  });
}

class RandomAffineKernel final : public RandomImagesKernel<RandomAffineLayer, Map> {
 public:
  RandomAffineKernel(const RandomAffineLayer& layer, const KernelContext& context)
      : RandomImagesKernel(layer, context),
        images_({.examples = context.options.examples,
                 .height = layer.output().shape[0],
                 .width = layer.output().shape[1],
                 .channels = layer.output().shape[2],
                 .fill = layer.fill(),
                 .fill_value = static_cast<float>(layer.fill_value()),
                 .nearest = layer.nearest()}) {}

 private:
  void Change(uint64_t, const Map* maps, const float* images, float* output) override {
    Transform(context_, images_, maps, images, output);
  }

  void Differentiate(const Map* maps, const float*, const float* output_gradient,
                     float* gradient) override {
    context_->Zero(gradient, images_.count() * sizeof(float));
    TransformGradient(context_, images_, maps, output_gradient, gradient);
  }

  const Images images_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomAffineKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomAffineKernel>(static_cast<const RandomAffineLayer&>(layer),
                                              context);
}

}  // namespace cairn::nn::cuda
