#include "common/random.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/gaussian_noise.h"

namespace cairn::nn::cuda {
namespace {

// common/random_normal.h on the device.
__device__ double Uniform(uint64_t key, uint64_t index) {
  return static_cast<double>(RandomBits(key, index) >> 11) * 0x1p-53;
}

__device__ float Noise(uint64_t key, int64_t element, double stddev) {
  constexpr double kPi = 3.14159265358979323846;
  const uint64_t index = 2 * static_cast<uint64_t>(element);
  const double radius = sqrt(-2 * log(1 - Uniform(key, index)));
  return static_cast<float>(stddev * radius * cos(2 * kPi * Uniform(key, index + 1)));
}

void AddNoise(Context* context, int64_t count, uint64_t key, double stddev, bool multiplies,
              const float* from, float* to) {
  ForEach(context, count, [=] __device__(int64_t i) {
    const float noise = Noise(key, i, stddev);
    to[i] = multiplies ? from[i] * (1 + noise) : from[i] + noise;
  });
}

class GaussianNoiseKernel final : public Kernel {
 public:
  GaussianNoiseKernel(const GaussianNoiseLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        count_(context.options.examples * ElementCount(layer.output().shape)) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    if (arguments.training) {
      AddNoise(context_, count_, arguments.random_key, layer_.stddev(), layer_.multiplies(),
               arguments.inputs[0], arguments.output);
    } else {
      context_->Copy(arguments.output, arguments.inputs[0], count_ * sizeof(float));
    }
    return absl::OkStatus();
  }

  // Draws are a pure function of the key, so they are repeated instead of stored.
  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    if (layer_.multiplies()) {
      AddNoise(context_, count_, arguments.random_key, layer_.stddev(), /*multiplies=*/true,
               arguments.output_gradient, gradient);
    } else {
      context_->Copy(gradient, arguments.output_gradient, count_ * sizeof(float));
    }
  }

 private:
  Context* const context_;
  const GaussianNoiseLayer& layer_;
  const int64_t count_;
};

}  // namespace

std::unique_ptr<Kernel> CreateGaussianNoiseKernel(const Layer& layer,
                                                  const KernelContext& context) {
  return std::make_unique<GaussianNoiseKernel>(static_cast<const GaussianNoiseLayer&>(layer),
                                               context);
}

}  // namespace cairn::nn::cuda
