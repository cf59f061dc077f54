#include "nn/cuda/float_input.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/random_flip.h"

namespace cairn::nn::cuda {
namespace {

struct Images {
  int64_t examples = 0;
  Divisor height;
  Divisor width;
  Divisor channels;
  bool flips_rows = false;
  bool flips_columns = false;

  int64_t count() const { return examples * height * width * channels; }
};

void Flip(Context* context, const Images& images, uint64_t key, const float* from, float* to) {
  ForEach(context, images.count(), [=] __device__(int64_t i) {
    const int64_t pixel = i / images.channels;
    const int64_t line = pixel / images.width;
    const int64_t example = line / images.height;
    int64_t row = line - example * images.height;
    int64_t column = pixel - line * images.width;
    if (images.flips_rows && RandomFlipLayer::Flips(key, example, 0)) row = images.height - 1 - row;
    if (images.flips_columns && RandomFlipLayer::Flips(key, example, 1)) {
      column = images.width - 1 - column;
    }
    const int64_t source = (example * images.height + row) * images.width + column;
    to[i] = from[source * images.channels + i - pixel * images.channels];
  });
}

class RandomFlipKernel final : public Kernel {
 public:
  RandomFlipKernel(const RandomFlipLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        images_({.examples = context.options.examples,
                 .height = layer.output().shape[0],
                 .width = layer.output().shape[1],
                 .channels = layer.output().shape[2],
                 .flips_rows = layer.flips_rows(),
                 .flips_columns = layer.flips_columns()}),
        input_(layer.inputs()[0], context.options.examples, context.cuda) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* const images = input_.Get(arguments.inputs[0]);
    if (arguments.training) {
      Flip(context_, images_, arguments.random_key, images, arguments.output);
    } else {
      context_->Copy(arguments.output, images, images_.count() * sizeof(float));
    }
    return absl::OkStatus();
  }

  // A flip is its own inverse.
  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    Flip(context_, images_, arguments.random_key, arguments.output_gradient, gradient);
  }

 private:
  Context* const context_;
  const Images images_;
  const FloatInput input_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomFlipKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomFlipKernel>(static_cast<const RandomFlipLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
