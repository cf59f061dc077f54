#include "nn/cpu/channel_loops.h"

#include <algorithm>

#include "common/simd.h"

// Sums of a few rows are made in floats, those of many in doubles: as exact, and the conversions do
// not take longer than the memory. Sums of one tensor take several rows at once, so that what
// belongs to a channel is loaded once for all of them; two tensors that are read side by side come
// from memory faster row by row.

// So that what CAIRN_SIMD functions consist of is compiled for their instructions.
#define CAIRN_INLINE __attribute__((always_inline)) inline

namespace cairn::nn {
namespace {

// Rows that are summed up at once.
constexpr int64_t kSumRows = 8;

// Asks for as many floats as are worked on next, some way ahead of them.
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

// The mean of a few rows here and there.
void SampleMeans(int64_t rows, int64_t channels, const float* x, float* means) {
  constexpr int64_t kSamplesMax = 16;
  const int64_t samples = std::min(rows, kSamplesMax);
  std::fill(means, means + channels, 0.0f);
  for (int64_t i = 0; i < samples; ++i) {
    const float* const row = x + rows * i / samples * channels;
    for (int64_t c = 0; c < channels; ++c) means[c] += row[c] / static_cast<float>(samples);
  }
}

// The sums of x - shift and of its squares.
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

// SumMapGradients of few rows, in floats.
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
  SampleMeans(rows, channels, x, shift);
  SumDeviations(rows, channels, x, shift, means, squares);
  for (int64_t c = 0; c < channels; ++c) {
    const double deviation = means[c] / static_cast<double>(rows);
    const double square = squares[c] - deviation * means[c];
    // Not a number stays that.
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
