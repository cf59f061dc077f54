#include "nn/cpu/channel_loops.h"

#include <algorithm>

#include "common/simd.h"

// Sums of a few rows are made in floats, those of many in doubles: as exact, and the conversions do
// not take longer than the memory.

namespace cairn::nn {
namespace {

constexpr int64_t kGroup = 4;

// The sums of (x - mean)^2.
CAIRN_SIMD void SumSquaredDeviations(int64_t rows, int64_t channels, const float* x,
                                     const float* mean, double* sums) {
  std::fill(sums, sums + channels, 0.0);
  int64_t row = 0;
  for (; row + kGroup <= rows; row += kGroup, x += kGroup * channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      const float d0 = x[c] - mean[c];
      const float d1 = x[channels + c] - mean[c];
      const float d2 = x[2 * channels + c] - mean[c];
      const float d3 = x[3 * channels + c] - mean[c];
      sums[c] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
    }
  }
  for (; row < rows; ++row, x += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      const float deviation = x[c] - mean[c];
      sums[c] += deviation * deviation;
    }
  }
}

// SumMapGradients for so many rows at once; to be compiled into a CAIRN_SIMD function.
template <int64_t rows>
__attribute__((always_inline)) inline void AddMapGradients(int64_t channels, const float* x,
                                                           const ChannelMap& map, const float* mean,
                                                           const float* g, double* sums,
                                                           double* products) {
  const float* const scale = map.scale;
  const float* const shift = map.shift;
  const float low = map.low;
  const float top = map.top;
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) {
    float sum = 0;
    float product = 0;
#pragma GCC unroll 4
    for (int64_t row = 0; row < rows; ++row) {
      const float at = x[row * channels + c];
      const float value = at * scale[c] + shift[c];
      float gradient = value <= low ? 0 : g[row * channels + c];
      gradient = value >= top ? 0 : gradient;
      sum += gradient;
      product += gradient * (at - mean[c]);
    }
    sums[c] += sum;
    products[c] += product;
  }
}

}  // namespace

CAIRN_SIMD void MapChannels(int64_t rows, int64_t channels, const float* x, const ChannelMap& map,
                            float* y) {
  const float* const scale = map.scale;
  const float* const shift = map.shift;
  const float low = map.low;
  const float top = map.top;
  for (int64_t row = 0; row < rows; ++row, x += channels, y += channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      float value = x[c] * scale[c] + shift[c];
      value = value < low ? low : value;
      y[c] = value > top ? top : value;
    }
  }
}

CAIRN_SIMD void SumChannels(int64_t rows, int64_t channels, const float* x, double* sums) {
  std::fill(sums, sums + channels, 0.0);
  int64_t row = 0;
  for (; row + kGroup <= rows; row += kGroup, x += kGroup * channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] += (x[c] + x[channels + c]) + (x[2 * channels + c] + x[3 * channels + c]);
    }
  }
  for (; row < rows; ++row, x += channels) {
    for (int64_t c = 0; c < channels; ++c) sums[c] += x[c];
  }
}

void MeasureChannels(int64_t rows, int64_t channels, const float* x, ChannelScratch* scratch,
                     ChannelMoments* moments) {
  // Half of a first-level cache.
  constexpr int64_t kBlockFloats = 4096;
  constexpr int64_t kBlockRowsMin = 16;
  const int64_t block_rows = std::max(kBlockRowsMin, kBlockFloats / channels);
  double* const means = scratch->means.data();
  double* const squares = scratch->squares.data();
  float* const float_means = scratch->float_means.data();
  moments->rows = 0;
  for (int64_t row = 0; row < rows; row += block_rows) {
    const int64_t count = std::min(block_rows, rows - row);
    const float* const block = x + row * channels;
    SumChannels(count, channels, block, means);
    for (int64_t c = 0; c < channels; ++c) {
      means[c] /= static_cast<double>(count);
      float_means[c] = static_cast<float>(means[c]);
    }
    SumSquaredDeviations(count, channels, block, float_means, squares);
    AddMoments(channels, {.rows = count, .means = means, .squares = squares}, moments);
  }
}

CAIRN_SIMD void AddMoments(int64_t channels, const ChannelMoments& from, ChannelMoments* to) {
  if (to->rows == 0) {
    std::copy_n(from.means, channels, to->means);
    std::copy_n(from.squares, channels, to->squares);
    to->rows = from.rows;
    return;
  }
  const auto all = static_cast<double>(to->rows + from.rows);
  const double share = static_cast<double>(from.rows) / all;
  const double weight = static_cast<double>(to->rows) * share;
  const double* const means = from.means;
  const double* const squares = from.squares;
  double* const to_means = to->means;
  double* const to_squares = to->squares;
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) {
    const double difference = means[c] - to_means[c];
    to_means[c] += difference * share;
    to_squares[c] += squares[c] + difference * difference * weight;
  }
  to->rows += from.rows;
}

CAIRN_SIMD void SumMapGradients(int64_t rows, int64_t channels, const float* x,
                                const ChannelMap& map, const float* mean, const float* g,
                                double* sums, double* products) {
  std::fill(sums, sums + channels, 0.0);
  std::fill(products, products + channels, 0.0);
  int64_t row = 0;
  for (; row + kGroup <= rows; row += kGroup, x += kGroup * channels, g += kGroup * channels) {
    AddMapGradients<kGroup>(channels, x, map, mean, g, sums, products);
  }
  for (; row < rows; ++row, x += channels, g += channels) {
    AddMapGradients<1>(channels, x, map, mean, g, sums, products);
  }
}

CAIRN_SIMD void MixMapGradients(int64_t rows, int64_t channels, const float* x,
                                const ChannelMap& map, const ChannelMix& mix, const float* g,
                                float* out) {
  const float* const scale = map.scale;
  const float* const shift = map.shift;
  const float low = map.low;
  const float top = map.top;
  const float* const a = mix.a;
  const float* const b = mix.b;
  const float* const offset = mix.c;
  for (int64_t row = 0; row < rows; ++row, x += channels, g += channels, out += channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      const float value = x[c] * scale[c] + shift[c];
      float gradient = value <= low ? 0 : g[c];
      gradient = value >= top ? 0 : gradient;
      out[c] = a[c] * gradient + (b[c] * x[c] + offset[c]);
    }
  }
}

}  // namespace cairn::nn
