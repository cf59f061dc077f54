#include "nn/cpu/channel_loops.h"

#include <algorithm>

#include "common/simd.h"

// Precision and speed: a few rows are summed in float, then added to doubles. The result is as
// exact as with doubles alone, and the conversions are hidden by memory latency. Sums over one
// tensor process several rows at once, so that per-channel data is loaded once for all of them.
// Passes over two tensors process row by row, which is faster for two memory streams.

// Inlines helpers into CAIRN_SIMD functions, so that they are compiled for each of those functions'
// instruction sets.
#define CAIRN_INLINE __attribute__((always_inline)) inline

namespace cairn::nn {
namespace {

// The number of rows summed at once.
constexpr int64_t kSumRows = 8;

// Prefetches `count` floats, at a fixed distance ahead of x.
CAIRN_INLINE void PrefetchNext(const float* x, int64_t count) {
  constexpr int64_t kLineFloats = 16;
  constexpr int64_t kAhead = 1024;
  for (int64_t i = 0; i < count; i += kLineFloats) {
    __builtin_prefetch(x + kAhead + i, /*rw=*/0, /*locality=*/2);
  }
}

template <int64_t rows>
CAIRN_INLINE void AddRows(int64_t channels, const float* x, double* sums) {
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) {
    float sum = 0;
#pragma GCC unroll 8
    for (int64_t row = 0; row < rows; ++row) sum += x[row * channels + c];
    sums[c] += sum;
  }
}

template <int64_t rows>
CAIRN_INLINE void AddDeviations(int64_t channels, const float* x, const float* shift, double* sums,
                                double* squares) {
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) {
    float sum = 0;
    float square = 0;
#pragma GCC unroll 8
    for (int64_t row = 0; row < rows; ++row) {
      const float deviation = x[row * channels + c] - shift[c];
      sum += deviation;
      square += deviation * deviation;
    }
    sums[c] += sum;
    squares[c] += square;
  }
}

// Writes the mean of up to 16 rows, evenly spaced, to `means`.
void SampleMeans(int64_t rows, int64_t channels, const float* x, float* means) {
  constexpr int64_t kSamplesMax = 16;
  const int64_t samples = std::min(rows, kSamplesMax);
  std::fill(means, means + channels, 0.0f);
  for (int64_t i = 0; i < samples; ++i) {
    const float* const row = x + rows * i / samples * channels;
    for (int64_t c = 0; c < channels; ++c) means[c] += row[c] / static_cast<float>(samples);
  }
}

// Writes the sums of x - shift and of its squares.
CAIRN_SIMD void SumDeviations(int64_t rows, int64_t channels, const float* x, const float* shift,
                              double* sums, double* squares) {
  std::fill(sums, sums + channels, 0.0);
  std::fill(squares, squares + channels, 0.0);
  int64_t row = 0;
  for (; row + kSumRows <= rows; row += kSumRows, x += kSumRows * channels) {
    PrefetchNext(x, kSumRows * channels);
    AddDeviations<kSumRows>(channels, x, shift, sums, squares);
  }
  for (; row < rows; ++row, x += channels) AddDeviations<1>(channels, x, shift, sums, squares);
}

// SumMapGradients for a few rows, in float; adds to its results.
CAIRN_SIMD void AddMapGradients(int64_t rows, int64_t channels, const float* x,
                                const ChannelMap& map, const float* mean, const float* g,
                                float* sums, float* products) {
  const float* const scale = map.scale;
  const float* const shift = map.shift;
  const float low = map.low;
  const float top = map.top;
  for (int64_t row = 0; row < rows; ++row, x += channels, g += channels) {
    PrefetchNext(x, channels);
    PrefetchNext(g, channels);
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      const float value = x[c] * scale[c] + shift[c];
      const float from = g[c];
      const float gradient = (value <= low) | (value >= top) ? 0 : from;
      sums[c] += gradient;
      products[c] += gradient * (x[c] - mean[c]);
    }
  }
}

CAIRN_SIMD void AddFloats(int64_t count, const float* from, double* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
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
  for (; row + kSumRows <= rows; row += kSumRows, x += kSumRows * channels) {
    PrefetchNext(x, kSumRows * channels);
    AddRows<kSumRows>(channels, x, sums);
  }
  for (; row < rows; ++row, x += channels) AddRows<1>(channels, x, sums);
}

void MeasureChannels(int64_t rows, int64_t channels, const float* x, float* shift,
                     ChannelMoments* moments) {
  double* const means = moments->means;
  double* const squares = moments->squares;
  // With s = sum(x - shift): mean = shift + s / n and sum of squared deviations = sum((x -
  // shift)^2) - s^2 / n.
  SampleMeans(rows, channels, x, shift);
  SumDeviations(rows, channels, x, shift, means, squares);
  for (int64_t c = 0; c < channels; ++c) {
    const double deviation = means[c] / static_cast<double>(rows);
    const double square = squares[c] - deviation * means[c];
    // Rounding may give a negative number. Written so that NaN stays NaN.
    squares[c] = square < 0 ? 0 : square;
    means[c] = shift[c] + deviation;
  }
  moments->rows = rows;
}

CAIRN_SIMD void AddMoments(int64_t channels, const ChannelMoments& from, ChannelMoments* to) {
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

void SumMapGradients(int64_t rows, int64_t channels, const float* x, const ChannelMap& map,
                     const float* mean, const float* g, float* scratch, double* sums,
                     double* products) {
  constexpr int64_t kBlockRows = 64;
  std::fill(sums, sums + channels, 0.0);
  std::fill(products, products + channels, 0.0);
  for (int64_t row = 0; row < rows; row += kBlockRows) {
    std::fill(scratch, scratch + 2 * channels, 0.0f);
    AddMapGradients(std::min(kBlockRows, rows - row), channels, x + row * channels, map, mean,
                    g + row * channels, scratch, scratch + channels);
    AddFloats(channels, scratch, sums);
    AddFloats(channels, scratch + channels, products);
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
    PrefetchNext(x, channels);
    PrefetchNext(g, channels);
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      const float value = x[c] * scale[c] + shift[c];
      const float from = g[c];
      const float gradient = (value <= low) | (value >= top) ? 0 : from;
      out[c] = a[c] * gradient + (b[c] * x[c] + offset[c]);
    }
  }
}

}  // namespace cairn::nn
