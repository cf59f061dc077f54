#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/pooling2d.h"

namespace cairn::nn::cuda {
namespace {

// Windows over volumes (depth, height, width, channels). An image is a volume of depth 1.
struct Volumes {
  // A range of an axis.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    __device__ int64_t count() const { return end - begin; }
  };
  struct Place {
    int64_t example = 0;
    int64_t z = 0;
    int64_t y = 0;
    int64_t x = 0;
  };

  int64_t examples = 0;
  int64_t channels = 0;
  Divisor input[3];
  Divisor output[3];
  int64_t size[3] = {1, 1, 1};
  Divisor strides[3];
  int64_t padding[3] = {0, 0, 0};
  // The average's gradient is divided by the size of the whole window.
  bool counts_padding = false;

  // The place of a pixel, of all examples' pixels.
  __device__ static Place PlaceOf(int64_t pixel, const Divisor (&sides)[3]) {
    const int64_t line = pixel / sides[2];
    const int64_t plane = line / sides[1];
    const int64_t example = plane / sides[0];
    return {example, plane - example * sides[0], line - plane * sides[1], pixel - line * sides[2]};
  }
  __device__ static int64_t PixelAt(const Place& at, const Divisor (&sides)[3]) {
    return ((at.example * sides[0] + at.z) * sides[1] + at.y) * sides[2] + at.x;
  }

  // The input's pixels that the window of an output has, along an axis.
  __device__ Range Inputs(int axis, int64_t at) const {
    const int64_t begin = at * strides[axis] - padding[axis];
    const int64_t end = begin + size[axis];
    return {begin < 0 ? 0 : begin, end < input[axis] ? end : int64_t{input[axis]}};
  }
  // The outputs whose windows have a pixel of the input.
  __device__ Range Outputs(int axis, int64_t at) const {
    const int64_t last = (at + padding[axis]) / strides[axis];
    const int64_t before = at + padding[axis] - size[axis];
    return {before < 0 ? 0 : before / strides[axis] + 1,
            last < output[axis] ? last + 1 : int64_t{output[axis]}};
  }
  // The number of a window's place that has a pixel of the input.
  __device__ int32_t PlaceInWindow(const Place& in, const Place& out) const {
    const int64_t z = in.z + padding[0] - out.z * strides[0];
    const int64_t y = in.y + padding[1] - out.y * strides[1];
    const int64_t x = in.x + padding[2] - out.x * strides[2];
    return static_cast<int32_t>((z * size[1] + y) * size[2] + x);
  }
  // The number of pixels that the gradient of an average is divided by.
  __device__ float Count(const Place& out) const {
    if (counts_padding) return static_cast<float>(size[0] * size[1] * size[2]);
    return static_cast<float>(Inputs(0, out.z).count() * Inputs(1, out.y).count() *
                              Inputs(2, out.x).count());
  }

  int64_t OutputCount() const { return examples * output[0] * output[1] * output[2] * channels; }
  int64_t InputCount() const { return examples * input[0] * input[1] * input[2] * channels; }
};

// Each thread computes kLanes channels of an output pixel. winners[i] is the place in the window of
// output i's maximum, the first one if there are several. It is null if it is not needed.
template <int kLanes>
void Maximum(Context* context, const Volumes& v, const float* input, int32_t* winners,
             float* output) {
  const Divisor runs = v.channels / kLanes;
  ForEach(context, v.OutputCount() / kLanes, [=] __device__(int64_t i) {
    const int64_t pixel = i / runs;
    const float* const from = input + (i - pixel * runs) * kLanes;
    const Volumes::Place out = Volumes::PlaceOf(pixel, v.output);
    const auto ys = v.Inputs(1, out.y);
    const auto xs = v.Inputs(2, out.x);
    Lanes<kLanes, int32_t> winner = {};
    Lanes<kLanes> maximum = {};
    bool is_first = true;
    Volumes::Place in = {.example = out.example};
    const auto zs = v.Inputs(0, out.z);
    for (in.z = zs.begin; in.z < zs.end; ++in.z) {
      for (in.y = ys.begin; in.y < ys.end; ++in.y) {
        for (in.x = xs.begin; in.x < xs.end; ++in.x) {
          const auto value = Load<kLanes>(from + Volumes::PixelAt(in, v.input) * v.channels);
          const int32_t place = v.PlaceInWindow(in, out);
          for (int lane = 0; lane < kLanes; ++lane) {
            if (!is_first && !(value.values[lane] > maximum.values[lane])) continue;
            winner.values[lane] = place;
            maximum.values[lane] = value.values[lane];
          }
          is_first = false;
        }
      }
    }
    if (winners != nullptr) Store(winner, winners + i * kLanes);
    Store(maximum, output + i * kLanes);
  });
}

template <int kLanes>
void Average(Context* context, const Volumes& v, const float* input, float* output) {
  const Divisor runs = v.channels / kLanes;
  ForEach(context, v.OutputCount() / kLanes, [=] __device__(int64_t i) {
    const int64_t pixel = i / runs;
    const float* const from = input + (i - pixel * runs) * kLanes;
    const Volumes::Place out = Volumes::PlaceOf(pixel, v.output);
    const auto zs = v.Inputs(0, out.z);
    const auto ys = v.Inputs(1, out.y);
    const auto xs = v.Inputs(2, out.x);
    Lanes<kLanes> sum = {};
    Volumes::Place in = {.example = out.example};
    for (in.z = zs.begin; in.z < zs.end; ++in.z) {
      for (in.y = ys.begin; in.y < ys.end; ++in.y) {
        for (in.x = xs.begin; in.x < xs.end; ++in.x) {
          const auto value = Load<kLanes>(from + Volumes::PixelAt(in, v.input) * v.channels);
          for (int lane = 0; lane < kLanes; ++lane) sum.values[lane] += value.values[lane];
        }
      }
    }
    const auto count = static_cast<float>(zs.count() * ys.count() * xs.count());
    for (int lane = 0; lane < kLanes; ++lane) sum.values[lane] /= count;
    Store(sum, output + i * kLanes);
  });
}

// The sum over all windows that have the input element. `winners` is null for averages.
template <int kLanes>
void InputGradient(Context* context, const Volumes& v, const int32_t* winners,
                   const float* gradient, float* to) {
  const Divisor runs = v.channels / kLanes;
  ForEach(context, v.InputCount() / kLanes, [=] __device__(int64_t i) {
    const int64_t pixel = i / runs;
    const int64_t channel = (i - pixel * runs) * kLanes;
    const Volumes::Place in = Volumes::PlaceOf(pixel, v.input);
    const auto zs = v.Outputs(0, in.z);
    const auto ys = v.Outputs(1, in.y);
    const auto xs = v.Outputs(2, in.x);
    Lanes<kLanes> sum = {};
    Volumes::Place out = {.example = in.example};
    for (out.z = zs.begin; out.z < zs.end; ++out.z) {
      for (out.y = ys.begin; out.y < ys.end; ++out.y) {
        for (out.x = xs.begin; out.x < xs.end; ++out.x) {
          const int64_t at = Volumes::PixelAt(out, v.output) * v.channels + channel;
          const auto value = Load<kLanes>(gradient + at);
          if (winners == nullptr) {
            const float count = v.Count(out);
            for (int lane = 0; lane < kLanes; ++lane)
              sum.values[lane] += value.values[lane] / count;
            continue;
          }
          const auto winner = Load<kLanes>(winners + at);
          const int32_t place = v.PlaceInWindow(in, out);
          for (int lane = 0; lane < kLanes; ++lane) {
            if (winner.values[lane] == place) sum.values[lane] += value.values[lane];
          }
        }
      }
    }
    Store(sum, to + i * kLanes);
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
    const float* const input = arguments.inputs[0];
    const bool has_runs = HasRunsOfFour(input, arguments.output);
    if (is_maximum_) {
      (has_runs ? Maximum<4> : Maximum<1>)(context_, volumes_, input, winners_.data(),
                                           arguments.output);
    } else {
      (has_runs ? Average<4> : Average<1>)(context_, volumes_, input, arguments.output);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const to = arguments.input_gradients[0];
    if (to == nullptr) return;
    const bool has_runs = HasRunsOfFour(arguments.output_gradient, to);
    (has_runs ? InputGradient<4> : InputGradient<1>)(context_, volumes_, winners_.data(),
                                                     arguments.output_gradient, to);
  }

 private:
  bool HasRunsOfFour(const float* a, const float* b) const {
    return volumes_.channels % 4 == 0 && IsAligned(a) && IsAligned(b);
  }

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
