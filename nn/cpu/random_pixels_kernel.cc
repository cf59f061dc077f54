#include <algorithm>
#include <cstring>

#include "nn/cpu/float_input.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/parallel.h"
#include "nn/layers/random_pixels.h"

namespace cairn::nn {
namespace {

using Kind = RandomPixelsLayer::Kind;

// TensorFlow's weights of red, green and blue (tf.image.rgb_to_grayscale).
constexpr float kLuminance[] = {0.2989f, 0.587f, 0.114f};

class RandomPixelsKernel : public Kernel {
 public:
  RandomPixelsKernel(const RandomPixelsLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        width_(layer.output().shape[1]),
        channels_(layer.output().shape[2]),
        elements_(ElementCount(layer.output().shape)),
        low_(static_cast<float>(layer.value_range()[0])),
        high_(static_cast<float>(layer.value_range()[1])),
        input_(layer.inputs()[0], examples_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* images = input_.Get(arguments.inputs[0]);
    std::memcpy(arguments.output, images, examples_ * elements_ * sizeof(float));
    if (!arguments.training) return absl::OkStatus();
    RunInParallel(examples_, [&](int64_t example) {
      const RandomPixelsLayer::Change change = layer_.Draw(arguments.random_key, example);
      float* values = arguments.output + example * elements_;
      if (change.applies) Apply(change, arguments.random_key, example, values);
    });
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* gradients = arguments.input_gradients[0];
    if (gradients == nullptr) return;
    const float* images = input_.Get(arguments.inputs[0]);
    RunInParallel(examples_, [&](int64_t example) {
      RandomPixelsLayer::Change change = layer_.Draw(arguments.random_key, example);
      if (layer_.inference_only()) change.applies = false;
      const float* by_output = arguments.output_gradient + example * elements_;
      float* gradient = gradients + example * elements_;
      std::copy_n(by_output, elements_, gradient);
      if (change.applies) Derive(change, images + example * elements_, gradient);
    });
  }

 private:
  void Apply(const RandomPixelsLayer::Change& change, uint64_t key, int64_t example,
             float* values) const {
    switch (layer_.kind()) {
      case Kind::kInvert:
        for (int64_t i = 0; i < elements_; ++i) values[i] = high_ - values[i];
        break;
      case Kind::kGray:
        for (int64_t i = 0; channels_ == 3 && i < elements_; i += 3) {
          float gray = 0;
          for (int c = 0; c < 3; ++c) gray += kLuminance[c] * values[i + c];
          std::fill_n(values + i, 3, gray);
        }
        break;
      case Kind::kSolarize:
        for (int64_t i = 0; i < elements_; ++i) {
          const float value = std::clamp(Lifted(change, values[i]), 0.0f, 255.0f);
          const float result = IsBelow(change, value) ? value : 255 - value;
          values[i] = result * (high_ - low_) / 255 + low_;
        }
        break;
      case Kind::kErase:
        for (int64_t i = 0; i < elements_; ++i) {
          if (IsInBox(change, i)) values[i] = layer_.FillValue(key, example, i);
        }
        break;
    }
  }

  // Turns the gradient by the output into that by the input.
  void Derive(const RandomPixelsLayer::Change& change, const float* image, float* gradient) const {
    switch (layer_.kind()) {
      case Kind::kInvert:
        for (int64_t i = 0; i < elements_; ++i) gradient[i] = -gradient[i];
        break;
      case Kind::kGray:
        for (int64_t i = 0; channels_ == 3 && i < elements_; i += 3) {
          const float sum = gradient[i] + gradient[i + 1] + gradient[i + 2];
          for (int c = 0; c < 3; ++c) gradient[i + c] = kLuminance[c] * sum;
        }
        break;
      case Kind::kSolarize:
        for (int64_t i = 0; i < elements_; ++i) {
          const float value = Lifted(change, image[i]);
          if (value < 0 || value > 255) gradient[i] = 0;
          if (!IsBelow(change, std::clamp(value, 0.0f, 255.0f))) gradient[i] = -gradient[i];
        }
        break;
      case Kind::kErase:
        for (int64_t i = 0; i < elements_; ++i) {
          if (IsInBox(change, i)) gradient[i] = 0;
        }
        break;
    }
  }

  // A value of the range as one from 0 to 255, with the addition.
  float Lifted(const RandomPixelsLayer::Change& change, float value) const {
    return (value - low_) * 255 / (high_ - low_) + static_cast<float>(change.addition);
  }
  static bool IsBelow(const RandomPixelsLayer::Change& change, float value) {
    return value < static_cast<float>(change.threshold);
  }

  bool IsInBox(const RandomPixelsLayer::Change& change, int64_t element) const {
    const auto row = static_cast<double>(element / channels_ / width_);
    const auto column = static_cast<double>(element / channels_ % width_);
    return row >= change.begin[0] && row < change.end[0] && column >= change.begin[1] &&
           column < change.end[1];
  }

  const RandomPixelsLayer& layer_;
  const int64_t examples_;
  const int64_t width_;
  const int64_t channels_;
  const int64_t elements_;
  const float low_;
  const float high_;
  FloatInput input_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomPixelsKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomPixelsKernel>(static_cast<const RandomPixelsLayer&>(layer),
                                              context);
}

}  // namespace cairn::nn
