#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/random_images_kernel.h"
#include "nn/layers/random_color.h"

namespace cairn::nn::cuda {
namespace {

struct Images {
  int64_t examples = 0;
  Divisor pixels;  // Of an example.
  Divisor channels;
  float low = 0;
  float high = 0;

  int64_t count() const { return examples * pixels * channels; }
  __device__ float Clip(float value) const {
    return value < low ? low : value > high ? high : value;
  }
  // A clipped value has no gradient.
  __device__ bool Contains(float value) const { return value >= low && value <= high; }
};

void ChangeBrightness(Context* context, const Images& images, const float* draws, const float* from,
                      float* to) {
  const Divisor elements = images.pixels * images.channels;
  ForEach(context, images.count(),
          [=] __device__(int64_t i) { to[i] = images.Clip(from[i] + draws[i / elements]); });
}

void BrightnessGradient(Context* context, const Images& images, const float* draws,
                        const float* from, const float* gradient, float* to) {
  const Divisor elements = images.pixels * images.channels;
  ForEach(context, images.count(), [=] __device__(int64_t i) {
    to[i] = images.Contains(from[i] + draws[i / elements]) ? gradient[i] : 0;
  });
}

__device__ float ChangedContrast(float value, double mean, float draw) {
  return static_cast<float>((value - mean) * draw + mean);
}

// A row is a channel of an example.
void ChangeContrast(Context* context, const Images& images, const float* draws, const float* from,
                    float* to) {
  ForEachRow(context, images.examples * images.channels, images.pixels,
             [=] __device__(int64_t row, const RowBlock& block) {
               const int64_t example = row / images.channels;
               const int64_t begin = example * (images.pixels - 1) * images.channels + row;
               double sum = 0;
               for (int64_t p = block.first(); p < images.pixels; p += block.step()) {
                 sum += from[begin + p * images.channels];
               }
               const double mean = block.Sum(sum) / static_cast<double>(images.pixels);
               for (int64_t p = block.first(); p < images.pixels; p += block.step()) {
                 const int64_t at = begin + p * images.channels;
                 to[at] = images.Clip(ChangedContrast(from[at], mean, draws[example]));
               }
             });
}

// The change of contrast is linear and symmetric, so it is its own transpose.
void ContrastGradient(Context* context, const Images& images, const float* draws, const float* from,
                      const float* gradient, float* to) {
  ForEachRow(context, images.examples * images.channels, images.pixels,
             [=] __device__(int64_t row, const RowBlock& block) {
               const int64_t example = row / images.channels;
               const int64_t begin = example * (images.pixels - 1) * images.channels + row;
               const auto count = static_cast<double>(images.pixels);
               const float draw = draws[example];
               double sum = 0;
               for (int64_t p = block.first(); p < images.pixels; p += block.step()) {
                 sum += from[begin + p * images.channels];
               }
               const double mean = block.Sum(sum) / count;
               sum = 0;
               for (int64_t p = block.first(); p < images.pixels; p += block.step()) {
                 const int64_t at = begin + p * images.channels;
                 if (images.Contains(ChangedContrast(from[at], mean, draw))) sum += gradient[at];
               }
               const double gradient_mean = block.Sum(sum) / count;
               for (int64_t p = block.first(); p < images.pixels; p += block.step()) {
                 const int64_t at = begin + p * images.channels;
                 const bool passes = images.Contains(ChangedContrast(from[at], mean, draw));
                 to[at] = ChangedContrast(passes ? gradient[at] : 0, gradient_mean, draw);
               }
             });
}

class RandomColorKernel final : public RandomImagesKernel<RandomColorLayer, float> {
 public:
  RandomColorKernel(const RandomColorLayer& layer, const KernelContext& context)
      : RandomImagesKernel(layer, context),
        images_({.examples = context.options.examples,
                 .pixels = layer.output().shape[0] * layer.output().shape[1],
                 .channels = layer.output().shape[2],
                 .low = static_cast<float>(layer.value_range()[0]),
                 .high = static_cast<float>(layer.value_range()[1])}),
        changes_contrast_(layer.kind() == RandomColorLayer::Kind::kContrast) {}

 private:
  void Change(uint64_t, const float* draws, const float* images, float* output) override {
    (changes_contrast_ ? ChangeContrast : ChangeBrightness)(context_, images_, draws, images,
                                                            output);
  }

  void Differentiate(const float* draws, const float* images, const float* output_gradient,
                     float* gradient) override {
    (changes_contrast_ ? ContrastGradient : BrightnessGradient)(context_, images_, draws, images,
                                                                output_gradient, gradient);
  }

  const Images images_;
  const bool changes_contrast_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomColorKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomColorKernel>(static_cast<const RandomColorLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
