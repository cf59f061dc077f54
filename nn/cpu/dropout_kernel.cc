#include <cstring>

#include "common/random.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/dropout.h"

namespace cairn::nn {
namespace {

class DropoutKernel : public Kernel {
 public:
  DropoutKernel(const DropoutLayer& layer, const KernelContext& context)
      : layer_(layer),
        count_(context.options.examples * ElementCount(layer.output().shape)),
        rate_(static_cast<float>(layer.rate())),
        scale_(layer.is_alpha() ? static_cast<float>(layer.alpha_scale())
               : rate_ < 1      ? 1 / (1 - rate_)
                                : 0) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    if (arguments.training && layer_.is_alpha()) {
      const auto scale = static_cast<float>(layer_.alpha_scale());
      const auto shift =
          static_cast<float>(-layer_.alpha_scale() * layer_.alpha_low() * layer_.rate());
      const auto dropped = static_cast<float>(layer_.alpha_scale() * layer_.alpha_low()) + shift;
      for (int64_t i = 0; i < count_; ++i) {
        arguments.output[i] = RandomUniform(arguments.random_key, i) < rate_
                                  ? dropped
                                  : arguments.inputs[0][i] * scale + shift;
      }
    } else if (arguments.training) {
      Drop(arguments.random_key, arguments.inputs[0], arguments.output);
    } else {
      std::memcpy(arguments.output, arguments.inputs[0], count_ * sizeof(float));
    }
    return absl::OkStatus();
  }

  // Draws are a pure function of the key, so they are repeated instead of stored.
  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient != nullptr) Drop(arguments.random_key, arguments.output_gradient, gradient);
  }

 private:
  void Drop(uint64_t key, const float* from, float* to) const {
    if (layer_.is_spatial()) return DropChannels(key, from, to);
    for (int64_t i = 0; i < count_; ++i) {
      to[i] = RandomUniform(key, i) < rate_ ? 0 : from[i] * scale_;
    }
  }

  void DropChannels(uint64_t key, const float* from, float* to) const {
    for (int64_t i = 0; i < count_; ++i) {
      to[i] = RandomUniform(key, layer_.DrawOf(i)) < rate_ ? 0 : from[i] * scale_;
    }
  }

  const DropoutLayer& layer_;
  const int64_t count_;
  const float rate_;
  const float scale_;
};

}  // namespace

std::unique_ptr<Kernel> CreateDropoutKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<DropoutKernel>(static_cast<const DropoutLayer&>(layer), context);
}

}  // namespace cairn::nn
