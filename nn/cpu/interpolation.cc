#include "nn/cpu/interpolation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cairn::nn {

Interpolation::Interpolation(const Resize& resize, int64_t channels)
    : channels_(channels),
      input_width_(resize.axes[1].input),
      taps_({TapsOf(resize.axes[0], resize.nearest), TapsOf(resize.axes[1], resize.nearest)}) {}

std::vector<Interpolation::Tap> Interpolation::TapsOf(const ResizedAxis& axis, bool nearest) {
  const double scale = static_cast<double>(axis.extent) / static_cast<double>(axis.output);
  std::vector<Tap> taps;
  for (int64_t i = 0; i < axis.output; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    Tap tap;
    if (nearest) {
      tap.low = tap.high = std::min(static_cast<int64_t>(center), axis.extent - 1);
    } else {
      const double below = std::floor(center - 0.5);
      tap.weight = static_cast<float>(center - 0.5 - below);
      tap.low = std::max<int64_t>(static_cast<int64_t>(below), 0);
      tap.high = std::min<int64_t>(static_cast<int64_t>(below) + 1, axis.extent - 1);
    }
    tap.low += axis.start;
    tap.high += axis.start;
    taps.push_back(tap);
  }
  return taps;
}

template <typename Visit>
void Interpolation::ForEachPart(const Visit& visit) const {
  int64_t output = 0;
  for (const Tap& row : taps_[0]) {
    for (const Tap& column : taps_[1]) {
      const auto part = [&](int64_t y, int64_t x, float weight) {
        if (weight != 0) visit((y * input_width_ + x) * channels_, output, weight);
      };
      part(row.low, column.low, (1 - row.weight) * (1 - column.weight));
      part(row.low, column.high, (1 - row.weight) * column.weight);
      part(row.high, column.low, row.weight * (1 - column.weight));
      part(row.high, column.high, row.weight * column.weight);
      output += channels_;
    }
  }
}

void Interpolation::Forward(const float* input, float* output) const {
  std::memset(output, 0, taps_[0].size() * taps_[1].size() * channels_ * sizeof(float));
  ForEachPart([&](int64_t from, int64_t to, float weight) {
    for (int64_t c = 0; c < channels_; ++c) output[to + c] += weight * input[from + c];
  });
}

void Interpolation::AddGradient(const float* output_gradient, float* input_gradient) const {
  ForEachPart([&](int64_t to, int64_t from, float weight) {
    for (int64_t c = 0; c < channels_; ++c) {
      input_gradient[to + c] += weight * output_gradient[from + c];
    }
  });
}

}  // namespace cairn::nn
