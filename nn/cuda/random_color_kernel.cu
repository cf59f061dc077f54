#include <vector>

#include "nn/cuda/float_input.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
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

// The host makes the draws.
class RandomColorKernel final : public Kernel {
 public:
  RandomColorKernel(const RandomColorLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        images_({.examples = context.options.examples,
                 .pixels = layer.output().shape[0] * layer.output().shape[1],
                 .channels = layer.output().shape[2],
                 .low = static_cast<float>(layer.value_range()[0]),
                 .high = static_cast<float>(layer.value_range()[1])}),
        changes_contrast_(layer.kind() == RandomColorLayer::Kind::kContrast),
        input_(layer.inputs()[0], context.options.examples, context.cuda),
        draws_(context.cuda, context.options.examples) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* const images = input_.Get(arguments.inputs[0]);
    if (!arguments.training || layer_.inference_only()) {
      context_->Copy(arguments.output, images, images_.count() * sizeof(float));
      return absl::OkStatus();
    }
    std::vector<float> draws;
    for (int64_t example = 0; example < images_.examples; ++example) {
      draws.push_back(layer_.Draw(arguments.random_key, example));
    }
    context_->Upload(draws_.data(), draws);
    (changes_contrast_ ? ChangeContrast : ChangeBrightness)(context_, images_, draws_.data(),
                                                            images, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    if (layer_.inference_only()) {
      context_->Copy(gradient, arguments.output_gradient, images_.count() * sizeof(float));
      return;
    }
    (changes_contrast_ ? ContrastGradient : BrightnessGradient)(
        context_, images_, draws_.data(), input_.Get(arguments.inputs[0]),
        arguments.output_gradient, gradient);
  }

 private:
  Context* const context_;
  const RandomColorLayer& layer_;
  const Images images_;
  const bool changes_contrast_;
  const FloatInput input_;
  // Of the last Forward in training, by example.
  DeviceArray<float> draws_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomColorKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomColorKernel>(static_cast<const RandomColorLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
