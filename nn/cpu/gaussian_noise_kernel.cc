#include <cstring>

#include "common/random_normal.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/gaussian_noise.h"

namespace cairn::nn {
namespace {

class GaussianNoiseKernel : public Kernel {
 public:
  GaussianNoiseKernel(const GaussianNoiseLayer& layer, const KernelContext& context)
      : layer_(layer), count_(context.options.examples * ElementCount(layer.output().shape)) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* x = arguments.inputs[0];
    if (!arguments.training) {
      std::memcpy(arguments.output, x, count_ * sizeof(float));
    } else if (layer_.multiplies()) {
      Multiply(arguments.random_key, x, arguments.output);
    } else {
      for (int64_t i = 0; i < count_; ++i) {
        arguments.output[i] = x[i] + Noise(arguments.random_key, i);
      }
    }
    return absl::OkStatus();
  }

  // Draws are a pure function of the key, so they are repeated instead of stored.
  void Backward(const BackwardArguments& arguments) override {
    float* gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    if (layer_.multiplies()) {
      Multiply(arguments.random_key, arguments.output_gradient, gradient);
    } else {
      std::memcpy(gradient, arguments.output_gradient, count_ * sizeof(float));
    }
  }

 private:
  float Noise(uint64_t key, int64_t element) const {
    return static_cast<float>(layer_.stddev() * RandomNormal(key, 2 * element));
  }

  void Multiply(uint64_t key, const float* from, float* to) const {
    for (int64_t i = 0; i < count_; ++i) to[i] = from[i] * (1 + Noise(key, i));
  }

  const GaussianNoiseLayer& layer_;
  const int64_t count_;
};

}  // namespace

std::unique_ptr<Kernel> CreateGaussianNoiseKernel(const Layer& layer,
                                                  const KernelContext& context) {
  return std::make_unique<GaussianNoiseKernel>(static_cast<const GaussianNoiseLayer&>(layer),
                                               context);
}

}  // namespace cairn::nn
