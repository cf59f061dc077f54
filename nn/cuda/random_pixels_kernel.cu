#include <vector>

#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/random_images_kernel.h"
#include "nn/cuda/random_normal.h"
#include "nn/layers/random_pixels.h"

namespace cairn::nn::cuda {
namespace {

using PixelChange = RandomPixelsLayer::Change;
using Kind = RandomPixelsLayer::Kind;

// What the formulas of nn/cpu/random_pixels_kernel.cc need.
struct Images {
  Kind kind = Kind::kInvert;
  int64_t examples = 0;
  Divisor elements;  // Of an example.
  Divisor width;
  Divisor channels;
  float low = 0;
  float high = 0;

  int64_t count() const { return examples * elements; }

  // TensorFlow's weights of red, green and blue.
  __device__ static float Luminance(int channel) {
    return channel == 0 ? 0.2989f : channel == 1 ? 0.587f : 0.114f;
  }
  // A value of the range as one from 0 to 255, with the addition.
  __device__ float Lifted(const PixelChange& change, float value) const {
    return (value - low) * 255 / (high - low) + static_cast<float>(change.addition);
  }
  // NaN stays NaN.
  __device__ static float Clamp(float value) { return value < 0 ? 0 : value > 255 ? 255 : value; }
  __device__ static bool IsBelow(const PixelChange& change, float value) {
    return value < static_cast<float>(change.threshold);
  }
  __device__ bool IsInBox(const PixelChange& change, int64_t element) const {
    const int64_t pixel = element / channels;
    const auto row = static_cast<double>(pixel / width);
    const auto column = static_cast<double>(pixel % width);
    return row >= change.begin[0] && row < change.end[0] && column >= change.begin[1] &&
           column < change.end[1];
  }
};

// The values that fill a box: one for each channel, or normal draws if `values` is null.
struct Filling {
  const float* values = nullptr;
  uint64_t key = 0;
  double low = 0;
  double high = 0;

  __device__ float At(const Images& images, int64_t i) const {
    if (values != nullptr) return values[i % images.channels];
    return static_cast<float>(fmin(fmax(DeviceNormal(key, 2 * i) * high, low), high));
  }
};

void Apply(Context* context, const Images& images, const PixelChange* changes,
           const Filling& filling, const float* from, float* to) {
  ForEach(context, images.count(), [=] __device__(int64_t i) {
    const int64_t example = i / images.elements;
    const PixelChange& change = changes[example];
    float value = from[i];
    if (change.applies && images.kind == Kind::kInvert) {
      value = images.high - value;
    } else if (change.applies && images.kind == Kind::kGray && images.channels == 3) {
      const float* const pixel = from + i - i % images.channels;
      value = 0;
      for (int c = 0; c < 3; ++c) value += Images::Luminance(c) * pixel[c];
    } else if (change.applies && images.kind == Kind::kSolarize) {
      value = Images::Clamp(images.Lifted(change, value));
      if (!Images::IsBelow(change, value)) value = 255 - value;
      value = value * (images.high - images.low) / 255 + images.low;
    } else if (change.applies && images.kind == Kind::kErase) {
      if (images.IsInBox(change, i - example * images.elements)) value = filling.At(images, i);
    }
    to[i] = value;
  });
}

// The gradient by the input from that by the output.
void Derive(Context* context, const Images& images, const PixelChange* changes, const float* from,
            const float* gradient, float* to) {
  ForEach(context, images.count(), [=] __device__(int64_t i) {
    const int64_t example = i / images.elements;
    const PixelChange& change = changes[example];
    float value = gradient[i];
    if (change.applies && images.kind == Kind::kInvert) {
      value = -value;
    } else if (change.applies && images.kind == Kind::kGray && images.channels == 3) {
      const int64_t channel = i % images.channels;
      const float* const pixel = gradient + i - channel;
      value = Images::Luminance(static_cast<int>(channel)) * (pixel[0] + pixel[1] + pixel[2]);
    } else if (change.applies && images.kind == Kind::kSolarize) {
      const float lifted = images.Lifted(change, from[i]);
      if (lifted < 0 || lifted > 255) value = 0;
      if (!Images::IsBelow(change, Images::Clamp(lifted))) value = -value;
    } else if (change.applies && images.kind == Kind::kErase) {
      if (images.IsInBox(change, i - example * images.elements)) value = 0;
    }
    to[i] = value;
  });
}

class RandomPixelsKernel final : public RandomImagesKernel<RandomPixelsLayer, PixelChange> {
 public:
  RandomPixelsKernel(const RandomPixelsLayer& layer, const KernelContext& context)
      : RandomImagesKernel(layer, context),
        images_({.kind = layer.kind(),
                 .examples = context.options.examples,
                 .elements = ElementCount(layer.output().shape),
                 .width = layer.output().shape[1],
                 .channels = layer.output().shape[2],
                 .low = static_cast<float>(layer.value_range()[0]),
                 .high = static_cast<float>(layer.value_range()[1])}),
        fill_(context.cuda, layer.fill().size()) {
    context_->Upload(fill_.data(), std::vector<float>(layer.fill().begin(), layer.fill().end()));
  }

 private:
  void Change(uint64_t random_key, const PixelChange* changes, const float* images,
              float* output) override {
    const Filling filling = {.values = fill_.data(),
                             .key = RandomPixelsLayer::FillKey(random_key),
                             .low = layer_.value_range()[0],
                             .high = layer_.value_range()[1]};
    Apply(context_, images_, changes, filling, images, output);
  }

  void Differentiate(const PixelChange* changes, const float* images, const float* output_gradient,
                     float* gradient) override {
    Derive(context_, images_, changes, images, output_gradient, gradient);
  }

  const Images images_;
  // By channel; null if boxes are filled with draws.
  DeviceArray<float> fill_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomPixelsKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomPixelsKernel>(static_cast<const RandomPixelsLayer&>(layer),
                                              context);
}

}  // namespace cairn::nn::cuda
