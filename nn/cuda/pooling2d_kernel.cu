#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/pooling2d.h"

namespace cairn::nn::cuda {
namespace {

// Windows over volumes (depth, height, width, channels). An image is a volume of depth 1.
struct Volumes {
  int64_t examples = 0;
  int64_t channels = 0;
  int64_t input[3] = {1, 1, 1};
  int64_t output[3] = {1, 1, 1};
  int64_t size[3] = {1, 1, 1};
  int64_t strides[3] = {1, 1, 1};
  int64_t padding[3] = {0, 0, 0};
  // The average's gradient is divided by the size of the whole window.
  bool counts_padding = false;

  __device__ int64_t places() const { return size[0] * size[1] * size[2]; }

  // The index of the input's pixel at a place of an output pixel's window; -1 in the padding.
  __device__ int64_t InputPixel(int64_t pixel, int64_t place) const {
    const int64_t output_at[3] = {pixel / output[2] / output[1] % output[0],
                                  pixel / output[2] % output[1], pixel % output[2]};
    const int64_t place_at[3] = {place / size[2] / size[1], place / size[2] % size[1],
                                 place % size[2]};
    int64_t index = pixel / output[2] / output[1] / output[0];
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t at = output_at[axis] * strides[axis] - padding[axis] + place_at[axis];
      if (at < 0 || at >= input[axis]) return -1;
      index = index * input[axis] + at;
    }
    return index;
  }

  // The index of the output's pixel whose window has an input pixel at a place; -1 if there is
  // none.
  __device__ int64_t OutputPixel(int64_t pixel, int64_t place) const {
    const int64_t input_at[3] = {pixel / input[2] / input[1] % input[0],
                                 pixel / input[2] % input[1], pixel % input[2]};
    const int64_t place_at[3] = {place / size[2] / size[1], place / size[2] % size[1],
                                 place % size[2]};
    int64_t index = pixel / input[2] / input[1] / input[0];
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t begin = input_at[axis] + padding[axis] - place_at[axis];
      if (begin < 0 || begin % strides[axis] != 0) return -1;
      if (begin / strides[axis] >= output[axis]) return -1;
      index = index * output[axis] + begin / strides[axis];
    }
    return index;
  }

  __device__ int64_t PixelsInside(int64_t pixel) const {
    int64_t count = 0;
    for (int64_t place = 0; place < places(); ++place) count += InputPixel(pixel, place) >= 0;
    return count;
  }
  int64_t OutputCount() const { return examples * output[0] * output[1] * output[2] * channels; }
  int64_t InputCount() const { return examples * input[0] * input[1] * input[2] * channels; }
};

// winners[i] is the place of output i's maximum, the first one if there are several.
void Maximum(Context* context, const Volumes& v, const float* input, int32_t* winners,
             float* output) {
  ForEach(context, v.OutputCount(), [=] __device__(int64_t i) {
    int32_t winner = -1;
    float maximum = 0;
    for (int64_t place = 0; place < v.places(); ++place) {
      const int64_t pixel = v.InputPixel(i / v.channels, place);
      if (pixel < 0) continue;
      const float value = input[pixel * v.channels + i % v.channels];
      if (winner >= 0 && !(value > maximum)) continue;
      winner = static_cast<int32_t>(place);
      maximum = value;
    }
    if (winners != nullptr) winners[i] = winner;
    output[i] = maximum;
  });
}

void Average(Context* context, const Volumes& v, const float* input, float* output) {
  ForEach(context, v.OutputCount(), [=] __device__(int64_t i) {
    float sum = 0;
    int64_t count = 0;
    for (int64_t place = 0; place < v.places(); ++place) {
      const int64_t pixel = v.InputPixel(i / v.channels, place);
      if (pixel < 0) continue;
      sum += input[pixel * v.channels + i % v.channels];
      ++count;
    }
    output[i] = sum / static_cast<float>(count);
  });
}

// The sum over all windows that have the input element. `winners` is null for averages.
void InputGradient(Context* context, const Volumes& v, const int32_t* winners,
                   const float* gradient, float* to) {
  ForEach(context, v.InputCount(), [=] __device__(int64_t i) {
    float sum = 0;
    for (int64_t place = 0; place < v.places(); ++place) {
      const int64_t pixel = v.OutputPixel(i / v.channels, place);
      if (pixel < 0) continue;
      const int64_t output = pixel * v.channels + i % v.channels;
      if (winners != nullptr) {
        if (winners[output] == place) sum += gradient[output];
      } else {
        const int64_t count = v.counts_padding ? v.places() : v.PixelsInside(pixel);
        sum += gradient[output] / static_cast<float>(count);
      }
    }
    to[i] = sum;
  });
}

class Pooling2DKernel final : public Kernel {
 public:
  Pooling2DKernel(const Pooling2DLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        is_maximum_(layer.kind() == Pooling2DLayer::Kind::kMaximum),
        volumes_(VolumesOf(layer, context.options.examples)),
        winners_(context.cuda,
                 is_maximum_ && context.options.training ? volumes_.OutputCount() : 0) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    if (is_maximum_) {
      Maximum(context_, volumes_, arguments.inputs[0], winners_.data(), arguments.output);
    } else {
      Average(context_, volumes_, arguments.inputs[0], arguments.output);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    InputGradient(context_, volumes_, winners_.data(), arguments.output_gradient,
                  arguments.input_gradients[0]);
  }

 private:
  static Volumes VolumesOf(const Pooling2DLayer& layer, int64_t examples) {
    const Shape input = layer.input_image();
    const Shape output = layer.output_image();
    Volumes v = {.examples = examples,
                 .channels = input.back(),
                 .counts_padding = layer.has_gradient_of_tfjs()};
    const auto set = [&v](int axis, int64_t in, int64_t out, const Window& window, int entry) {
      v.input[axis] = in;
      v.output[axis] = out;
      v.size[axis] = window.size[entry];
      v.strides[axis] = window.strides[entry];
      v.padding[axis] = window.padding_before[entry];
    };
    const size_t first = input.size() - 3;
    set(1, input[first], output[first], layer.window(), 0);
    set(2, input[first + 1], output[first + 1], layer.window(), 1);
    if (layer.depth() != nullptr) set(0, input[0], output[0], *layer.depth(), 0);
    return v;
  }

  Context* const context_;
  const bool is_maximum_;
  const Volumes volumes_;
  DeviceArray<int32_t> winners_;
};

}  // namespace

std::unique_ptr<Kernel> CreatePooling2DKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<Pooling2DKernel>(static_cast<const Pooling2DLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
