#include <vector>

#include "nn/cuda/float_input.h"
#include "nn/cuda/interpolation.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/random_crop.h"

namespace cairn::nn::cuda {
namespace {

// Crops of (part_height, part_width) of images (height, width).
struct Crops {
  int64_t examples = 0;
  Divisor height;
  Divisor width;
  Divisor part_height;
  Divisor part_width;
  Divisor channels;
};

// starts[2 e] and starts[2 e + 1] are the first row and column of example e's crop.
void Crop(Context* context, const Crops& c, const int64_t* starts, const float* images,
          float* parts) {
  ForEach(context, c.examples * c.part_height * c.part_width * c.channels,
          [=] __device__(int64_t i) {
            const int64_t pixel = i / c.channels;
            const int64_t line = pixel / c.part_width;
            const int64_t example = line / c.part_height;
            const int64_t row = line - example * c.part_height + starts[2 * example];
            const int64_t column = pixel - line * c.part_width + starts[2 * example + 1];
            const int64_t source = (example * c.height + row) * c.width + column;
            parts[i] = images[source * c.channels + i - pixel * c.channels];
          });
}

void CropGradient(Context* context, const Crops& c, const int64_t* starts, const float* parts,
                  float* images) {
  ForEach(context, c.examples * c.height * c.width * c.channels, [=] __device__(int64_t i) {
    const int64_t pixel = i / c.channels;
    const int64_t line = pixel / c.width;
    const int64_t example = line / c.height;
    const int64_t row = line - example * c.height - starts[2 * example];
    const int64_t column = pixel - line * c.width - starts[2 * example + 1];
    const bool is_inside = row >= 0 && row < c.part_height && column >= 0 && column < c.part_width;
    const int64_t target = (example * c.part_height + row) * c.part_width + column;
    images[i] = is_inside ? parts[target * c.channels + i - pixel * c.channels] : 0;
  });
}

// The host draws where crops start.
class RandomCropKernel final : public Kernel {
 public:
  RandomCropKernel(const RandomCropLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        crops_({.examples = context.options.examples,
                .height = layer.inputs()[0].shape[0],
                .width = layer.inputs()[0].shape[1],
                .part_height = layer.output().shape[0],
                .part_width = layer.output().shape[1],
                .channels = layer.output().shape[2]}),
        input_(layer.inputs()[0], context.options.examples, context.cuda),
        middle_(layer.middle(), layer.output().shape[2], context.cuda),
        starts_(context.cuda, 2 * context.options.examples) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* const images = input_.Get(arguments.inputs[0]);
    if (!arguments.training || !layer_.crops()) {
      middle_.Forward(crops_.examples, images, arguments.output);
      return absl::OkStatus();
    }
    std::vector<int64_t> starts;
    for (int64_t example = 0; example < crops_.examples; ++example) {
      for (int axis : {0, 1}) {
        starts.push_back(layer_.Start(arguments.random_key, example, axis));
      }
    }
    context_->Upload(starts_.data(), starts);
    Crop(context_, crops_, starts_.data(), images, arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.input_gradients[0];
    if (gradient == nullptr) return;
    if (layer_.crops()) {
      CropGradient(context_, crops_, starts_.data(), arguments.output_gradient, gradient);
    } else {
      middle_.Backward(crops_.examples, arguments.output_gradient, gradient);
    }
  }

 private:
  Context* const context_;
  const RandomCropLayer& layer_;
  const Crops crops_;
  const FloatInput input_;
  const Interpolation middle_;
  // Of the last Forward in training.
  DeviceArray<int64_t> starts_;
};

}  // namespace

std::unique_ptr<Kernel> CreateRandomCropKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<RandomCropKernel>(static_cast<const RandomCropLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
