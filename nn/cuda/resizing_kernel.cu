#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/resizing.h"

namespace cairn::nn::cuda {
namespace {

// Along an axis, the parts that pixel i of one image has of the other's: pixels[k] with weights[k],
// for k from begins[i] to begins[i + 1].
struct Parts {
  const int64_t* begins = nullptr;
  const int64_t* pixels = nullptr;
  const float* weights = nullptr;
};

// to(i, j) = the weighted sum of from's pixels.
void Combine(Context* context, int64_t examples, int64_t channels, int64_t from_height,
             int64_t from_width, int64_t to_height, int64_t to_width, const Parts& rows,
             const Parts& columns, bool is_integer, const float* from, float* to) {
  ForEach(context, examples * to_height * to_width * channels, [=] __device__(int64_t i) {
    const int64_t channel = i % channels;
    const int64_t column = i / channels % to_width;
    const int64_t row = i / channels / to_width % to_height;
    const int64_t example = i / channels / to_width / to_height;
    float sum = 0;
    for (int64_t r = rows.begins[row]; r < rows.begins[row + 1]; ++r) {
      for (int64_t c = columns.begins[column]; c < columns.begins[column + 1]; ++c) {
        const int64_t pixel =
            (example * from_height + rows.pixels[r]) * from_width + columns.pixels[c];
        const int64_t at = pixel * channels + channel;
        const float value =
            is_integer ? static_cast<float>(reinterpret_cast<const int32_t*>(from)[at]) : from[at];
        sum += rows.weights[r] * columns.weights[c] * value;
      }
    }
    to[i] = sum;
  });
}

// The parts of both directions of an axis.
class AxisParts {
 public:
  AxisParts(const ResizedAxis& axis, bool nearest, Context* context)
      : AxisParts(PairsOf(axis, nearest), axis, context) {}

  Parts of_output() const {
    return {output_begins_.data(), input_pixels_.data(), input_weights_.data()};
  }
  Parts of_input() const {
    return {input_begins_.data(), output_pixels_.data(), output_weights_.data()};
  }

 private:
  struct Pair {
    int64_t output = 0;
    int64_t input = 0;
    float weight = 0;
  };

  AxisParts(std::vector<Pair> pairs, const ResizedAxis& axis, Context* context)
      : output_begins_(context, axis.output + 1),
        input_pixels_(context, pairs.size()),
        input_weights_(context, pairs.size()),
        input_begins_(context, axis.input + 1),
        output_pixels_(context, pairs.size()),
        output_weights_(context, pairs.size()) {
    Store(context, pairs, axis.output, &Pair::output, &Pair::input, output_begins_.data(),
          input_pixels_.data(), input_weights_.data());
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.input < b.input; });
    Store(context, pairs, axis.input, &Pair::input, &Pair::output, input_begins_.data(),
          output_pixels_.data(), output_weights_.data());
  }

  // The formulas are those of nn/cpu/interpolation.cc. Sorted by output.
  static std::vector<Pair> PairsOf(const ResizedAxis& axis, bool nearest) {
    const double scale = static_cast<double>(axis.extent) / static_cast<double>(axis.output);
    std::vector<Pair> pairs;
    for (int64_t i = 0; i < axis.output; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      if (nearest) {
        const int64_t pixel = std::min(static_cast<int64_t>(center), axis.extent - 1);
        pairs.push_back({i, axis.start + pixel, 1});
        continue;
      }
      const double below = std::floor(center - 0.5);
      const auto weight = static_cast<float>(center - 0.5 - below);
      const int64_t low = std::max<int64_t>(static_cast<int64_t>(below), 0);
      const int64_t high = std::min<int64_t>(static_cast<int64_t>(below) + 1, axis.extent - 1);
      pairs.push_back({i, axis.start + low, 1 - weight});
      if (weight != 0) pairs.push_back({i, axis.start + high, weight});
    }
    return pairs;
  }

  // `pairs` is sorted by `key`.
  static void Store(Context* context, const std::vector<Pair>& pairs, int64_t count,
                    int64_t Pair::*key, int64_t Pair::*value, int64_t* to_begins,
                    int64_t* to_pixels, float* to_weights) {
    std::vector<int64_t> begins(count + 1);
    std::vector<int64_t> pixels;
    std::vector<float> weights;
    for (const Pair& pair : pairs) {
      ++begins[pair.*key + 1];
      pixels.push_back(pair.*value);
      weights.push_back(pair.weight);
    }
    for (int64_t i = 0; i < count; ++i) begins[i + 1] += begins[i];
    context->Upload(to_begins, begins);
    context->Upload(to_pixels, pixels);
    context->Upload(to_weights, weights);
  }

  // By output pixel, the input's pixels; and by input pixel, the output's.
  DeviceArray<int64_t> output_begins_;
  DeviceArray<int64_t> input_pixels_;
  DeviceArray<float> input_weights_;
  DeviceArray<int64_t> input_begins_;
  DeviceArray<int64_t> output_pixels_;
  DeviceArray<float> output_weights_;
};

class ResizingKernel final : public Kernel {
 public:
  ResizingKernel(const ResizingLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        examples_(context.options.examples),
        channels_(layer.output().shape.back()),
        is_integer_(layer.inputs()[0].type != proto::FLOAT32),
        height_(layer.resize().axes[0]),
        width_(layer.resize().axes[1]),
        rows_(height_, layer.resize().nearest, context.cuda),
        columns_(width_, layer.resize().nearest, context.cuda) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    Combine(context_, examples_, channels_, height_.input, width_.input, height_.output,
            width_.output, rows_.of_output(), columns_.of_output(), is_integer_,
            arguments.inputs[0], arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (arguments.input_gradients[0] == nullptr) return;
    Combine(context_, examples_, channels_, height_.output, width_.output, height_.input,
            width_.input, rows_.of_input(), columns_.of_input(), /*is_integer=*/false,
            arguments.output_gradient, arguments.input_gradients[0]);
  }

 private:
  Context* const context_;
  const int64_t examples_;
  const int64_t channels_;
  const bool is_integer_;
  const ResizedAxis height_;
  const ResizedAxis width_;
  const AxisParts rows_;
  const AxisParts columns_;
};

}  // namespace

std::unique_ptr<Kernel> CreateResizingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<ResizingKernel>(static_cast<const ResizingLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda
