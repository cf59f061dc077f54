#include "common/random.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/dropout.h"

namespace cairn::nn::cuda {
namespace {

// The draws of DropoutLayer::DrawOf.
struct Draws {
  bool are_shared = false;  // By the positions of a channel. Else each element has one.
  Divisor channels;
  Divisor per_example;  // Elements.

  __device__ int64_t Of(int64_t element) const {
    return !are_shared ? element : element / per_example * channels + element % channels;
  }
};

// to = dropped where the draw is below the rate, else from * scale + shift.
void Drop(Context* context, int64_t count, const Draws& draws, uint64_t key, float rate,
          float scale, float shift, float dropped, const float* from, float* to) {
  ForEach(context, count, [=] __device__(int64_t i) {
    to[i] = RandomUniform(key, draws.Of(i)) < rate ? dropped : from[i] * scale + shift;
  });
}

// The draws are those of the CPU, element by element.
class DropoutKernel final : public Kernel {
 public:
  DropoutKernel(const DropoutLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        count_(context.options.examples * ElementCount(layer.output().shape)),
        rate_(static_cast<float>(layer.rate())),
        scale_(layer.is_alpha() ? static_cast<float>(layer.alpha_scale())
               : rate_ < 1      ? 1 / (1 - rate_)
                                : 0) {
    if (!layer.is_spatial()) return;
    draws_ = {.are_shared = true,
              .channels = layer.output().shape.back(),
              .per_example = ElementCount(layer.output().shape)};
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    if (!arguments.training) {
      context_->Copy(arguments.output, arguments.inputs[0], count_ * sizeof(float));
      return absl::OkStatus();
    }
    float shift = 0;
    float dropped = 0;
    if (layer_.is_alpha()) {
      shift = static_cast<float>(-layer_.alpha_scale() * layer_.alpha_low() * layer_.rate());
      dropped = static_cast<float>(layer_.alpha_scale() * layer_.alpha_low()) + shift;
    }
    Drop(context_, count_, draws_, arguments.random_key, rate_, scale_, shift, dropped,
         arguments.inputs[0], arguments.output);
    return absl::OkStatus();
  }

  // Draws are a pure function of the key, so they are repeated instead of stored.
  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    Drop(context_, count_, draws_, arguments.random_key, rate_, scale_, /*shift=*/0, /*dropped=*/0,
         arguments.output_gradient, arguments.input_gradients[0]);
  }

 private:
  Context* const context_;
  const DropoutLayer& layer_;
  const int64_t count_;
  const float rate_;
  const float scale_;
  Draws draws_;
};

}  // namespace

std::unique_ptr<Kernel> CreateDropoutKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<DropoutKernel>(static_cast<const DropoutLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
