#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/random_normal.h"
#include "nn/layers/gaussian_noise.h"

namespace cairn::nn::cuda {
namespace {

void AddNoise(Context* context, int64_t count, uint64_t key, double stddev, bool multiplies,
              const float* from, float* to) {
  ForEach(context, count, [=] __device__(int64_t i) {
    const auto noise = static_cast<float>(stddev * DeviceNormal(key, 2 * i));
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
