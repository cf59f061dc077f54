#include <algorithm>
#include <cmath>
#include <utility>

#include "nn/cuda/interpolation.h"
#include "nn/cuda/loops.h"

namespace cairn::nn::cuda {
namespace {

// to(i, j) = the weighted sum of from's pixels.
void Combine(Context* context, int64_t examples, int64_t channels, int64_t from_height,
             int64_t from_width, int64_t to_height, int64_t to_width,
             const Interpolation::Parts& rows, const Interpolation::Parts& columns,
             const float* from, float* to) {
  const Divisor by_channels = channels;
  const Divisor by_width = to_width;
  const Divisor by_height = to_height;
  ForEach(context, examples * to_height * to_width * channels, [=] __device__(int64_t i) {
    const int64_t to_pixel = i / by_channels;
    const int64_t channel = i - to_pixel * channels;
    const int64_t line = to_pixel / by_width;
    const int64_t column = to_pixel - line * to_width;
    const int64_t example = line / by_height;
    const int64_t row = line - example * to_height;
    float sum = 0;
    for (int64_t r = rows.begins[row]; r < rows.begins[row + 1]; ++r) {
      for (int64_t c = columns.begins[column]; c < columns.begins[column + 1]; ++c) {
        const int64_t pixel =
            (example * from_height + rows.pixels[r]) * from_width + columns.pixels[c];
        sum += rows.weights[r] * columns.weights[c] * from[pixel * channels + channel];
      }
    }
    to[i] = sum;
  });
}

}  // namespace

Interpolation::AxisParts::AxisParts(std::vector<Pair> pairs, const ResizedAxis& axis,
                                    Context* context)
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

// The formulas are those of nn/cpu/interpolation.cc.
std::vector<Interpolation::Pair> Interpolation::AxisParts::PairsOf(const ResizedAxis& axis,
                                                                   bool nearest) {
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

void Interpolation::AxisParts::Store(Context* context, const std::vector<Pair>& pairs,
                                     int64_t count, int64_t Pair::*key, int64_t Pair::*value,
                                     int64_t* to_begins, int64_t* to_pixels, float* to_weights) {
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

Interpolation::Interpolation(const Resize& resize, int64_t channels, Context* context)
    : context_(context),
      channels_(channels),
      height_(resize.axes[0]),
      width_(resize.axes[1]),
      rows_(height_, resize.nearest, context),
      columns_(width_, resize.nearest, context) {}

void Interpolation::Forward(int64_t examples, const float* input, float* output) const {
  Combine(context_, examples, channels_, height_.input, width_.input, height_.output, width_.output,
          rows_.of_output(), columns_.of_output(), input, output);
}

void Interpolation::Backward(int64_t examples, const float* output_gradient,
                             float* input_gradient) const {
  Combine(context_, examples, channels_, height_.output, width_.output, height_.input, width_.input,
          rows_.of_input(), columns_.of_input(), output_gradient, input_gradient);
}

}  // namespace cairn::nn::cuda
