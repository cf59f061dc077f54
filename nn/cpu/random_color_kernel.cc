#include <algorithm>
#include <cstring>
#include <vector>

#include "nn/cpu/float_input.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/random_color.h"

namespace cairn::nn {
namespace {

class RandomColorKernel : public Kernel {
 public:
  RandomColorKernel(const RandomColorLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        elements_(ElementCount(layer.output().shape)),
        channels_(layer.output().shape[2]),
        low_(static_cast<float>(layer.value_range()[0])),
        high_(static_cast<float>(layer.value_range()[1])),
        input_(layer.inputs()[0], examples_),
        means_(channels_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* images = input_.Get(arguments.inputs[0]);
    std::memcpy(arguments.output, images, examples_ * elements_ * sizeof(float));
    if (!arguments.training || layer_.inference_only()) return absl::OkStatus();
    for (int64_t example = 0; example < examples_; ++example) {
      float* values = arguments.output + example * elements_;
      Change(arguments.random_key, example, values);
      for (int64_t i = 0; i < elements_; ++i) {
        values[i] = values[i] < low_ ? low_ : values[i] > high_ ? high_ : values[i];
      }
    }
    return absl::OkStatus();
  }

  // A clipped value has no gradient.
  void Backward(const BackwardArguments& arguments) override {
    float* target = arguments.input_gradients[0];
    if (target == nullptr) return;
    const float* images = input_.Get(arguments.inputs[0]);
    std::vector<float> changed(elements_);
    for (int64_t example = 0; example < examples_; ++example) {
      const float* by_output = arguments.output_gradient + example * elements_;
      float* gradient = target + example * elements_;
      if (layer_.inference_only()) {
        std::memmove(gradient, by_output, elements_ * sizeof(float));
        continue;
      }
      std::copy_n(images + example * elements_, elements_, changed.data());
      Change(arguments.random_key, example, changed.data());
      for (int64_t i = 0; i < elements_; ++i) {
        gradient[i] = changed[i] >= low_ && changed[i] <= high_ ? by_output[i] : 0;
      }
      // The change of contrast is linear and symmetric, so it is its own transpose.
      if (layer_.kind() == RandomColorLayer::Kind::kContrast) {
        Change(arguments.random_key, example, gradient);
      }
    }
  }

 private:
  void Change(uint64_t key, int64_t example, float* values) {
    const float draw = layer_.Draw(key, example);
    if (layer_.kind() == RandomColorLayer::Kind::kBrightness) {
      for (int64_t i = 0; i < elements_; ++i) values[i] += draw;
      return;
    }
    std::fill(means_.begin(), means_.end(), 0.0);
    for (int64_t i = 0; i < elements_; ++i) means_[i % channels_] += values[i];
    for (double& mean : means_) mean *= static_cast<double>(channels_) / elements_;
    for (int64_t i = 0; i < elements_; ++i) {
      const double mean = means_[i % channels_];
      values[i] = static_cast<float>((values[i] - mean) * draw + mean);
    }
  }

  const RandomColorLayer& layer_;
  const int64_t examples_;
  const int64_t elements_;
  const int64_t channels_;
  const float low_;
  const float high_;
  FloatInput input_;
  std::vector<double> means_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomColorKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomColorKernel>(static_cast<const RandomColorLayer&>(layer), context);
}

}  // namespace cairn::nn
