#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/adaptive_pooling.h"

namespace cairn::nn::cuda {
namespace {

struct Volumes {
  struct Place {
    int64_t example = 0;
    int64_t at[3] = {};  // Depth, height and width.
  };

  int64_t examples = 0;
  Divisor channels;
  Divisor input[3];
  Divisor output[3];

  // The place of a pixel, of all examples' pixels.
  __device__ static Place PlaceOf(int64_t pixel, const Divisor (&sides)[3]) {
    const int64_t line = pixel / sides[2];
    const int64_t plane = line / sides[1];
    const int64_t example = plane / sides[0];
    return {example,
            {plane - example * sides[0], line - plane * sides[1], pixel - line * sides[2]}};
  }
  __device__ int64_t Begin(int axis, int64_t at) const {
    return AdaptivePoolingLayer::Begin(at, input[axis], output[axis]);
  }
  __device__ int64_t End(int axis, int64_t at) const {
    return AdaptivePoolingLayer::End(at, input[axis], output[axis]);
  }
  // The outputs [FirstOutput, EndOutput) whose windows have an input's pixel, along an axis.
  __device__ int64_t FirstOutput(int axis, int64_t at) const {
    return at * output[axis] / input[axis];
  }
  __device__ int64_t EndOutput(int axis, int64_t at) const {
    return ((at + 1) * output[axis] - 1) / input[axis] + 1;
  }
  __device__ float Share(int64_t z, int64_t y, int64_t x) const {
    return 1.0f / static_cast<float>((End(0, z) - Begin(0, z)) * (End(1, y) - Begin(1, y)) *
                                     (End(2, x) - Begin(2, x)));
  }

  int64_t OutputCount() const { return examples * output[0] * output[1] * output[2] * channels; }
  int64_t InputCount() const { return examples * input[0] * input[1] * input[2] * channels; }
};

// `winners` has the input element of each maximum, the first one if there are several. It is null
// for averages.
void Pool(Context* context, const Volumes& v, const float* input, int64_t* winners, float* output) {
  ForEach(context, v.OutputCount(), [=] __device__(int64_t i) {
    const int64_t pixel = i / v.channels;
    const int64_t channel = i - pixel * v.channels;
    const Volumes::Place place = Volumes::PlaceOf(pixel, v.output);
    const int64_t end[3] = {v.End(0, place.at[0]), v.End(1, place.at[1]), v.End(2, place.at[2])};
    int64_t winner = -1;
    float result = 0;
    for (int64_t z = v.Begin(0, place.at[0]); z < end[0]; ++z) {
      for (int64_t y = v.Begin(1, place.at[1]); y < end[1]; ++y) {
        const int64_t line = ((place.example * v.input[0] + z) * v.input[1] + y) * v.input[2];
        for (int64_t x = v.Begin(2, place.at[2]); x < end[2]; ++x) {
          const int64_t at = (line + x) * v.channels + channel;
          if (winners == nullptr) {
            result += input[at];
          } else if (winner < 0 || input[at] > result) {
            winner = at;
            result = input[at];
          }
        }
      }
    }
    if (winners == nullptr) {
      result *= v.Share(place.at[0], place.at[1], place.at[2]);
    } else {
      winners[i] = winner;
    }
    output[i] = result;
  });
}

// The sum over all windows that have the input element. `winners` is null for averages.
void InputGradient(Context* context, const Volumes& v, const int64_t* winners,
                   const float* gradient, float* to) {
  ForEach(context, v.InputCount(), [=] __device__(int64_t i) {
    const int64_t pixel = i / v.channels;
    const int64_t channel = i - pixel * v.channels;
    const Volumes::Place place = Volumes::PlaceOf(pixel, v.input);
    const int64_t end[3] = {v.EndOutput(0, place.at[0]), v.EndOutput(1, place.at[1]),
                            v.EndOutput(2, place.at[2])};
    float sum = 0;
    for (int64_t z = v.FirstOutput(0, place.at[0]); z < end[0]; ++z) {
      for (int64_t y = v.FirstOutput(1, place.at[1]); y < end[1]; ++y) {
        const int64_t line = ((place.example * v.output[0] + z) * v.output[1] + y) * v.output[2];
        for (int64_t x = v.FirstOutput(2, place.at[2]); x < end[2]; ++x) {
          const int64_t at = (line + x) * v.channels + channel;
          if (winners == nullptr) {
            sum += gradient[at] * v.Share(z, y, x);
          } else if (winners[at] == i) {
            sum += gradient[at];
          }
        }
      }
    }
    to[i] = sum;
  });
}

class AdaptivePoolingKernel final : public Kernel {
 public:
  AdaptivePoolingKernel(const AdaptivePoolingLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        volumes_(VolumesOf(layer, context.options.examples)),
        winners_(context.cuda, layer.kind() == AdaptivePoolingLayer::Kind::kMaximum
                                   ? volumes_.OutputCount()
                                   : 0) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    Pool(context_, volumes_, arguments.inputs[0], winners_.data(), arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    InputGradient(context_, volumes_, winners_.data(), arguments.output_gradient,
                  arguments.input_gradients[0]);
  }

 private:
  static Volumes VolumesOf(const AdaptivePoolingLayer& layer, int64_t examples) {
    Volumes v = {.examples = examples, .channels = layer.channels()};
    for (int axis = 0; axis < 3; ++axis) {
      v.input[axis] = layer.input_size()[axis];
      v.output[axis] = layer.output_size()[axis];
    }
    return v;
  }

  Context* const context_;
  const Volumes volumes_;
  // Of the last Forward; null for averages.
  DeviceArray<int64_t> winners_;
};

}  // namespace

std::unique_ptr<Kernel> CreateAdaptivePoolingKernel(const Layer& layer,
                                                    const KernelContext& context) {
  return std::make_unique<AdaptivePoolingKernel>(static_cast<const AdaptivePoolingLayer&>(layer),
                                                 context);
}

}  // namespace cairn::nn::cuda
