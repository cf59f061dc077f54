#ifndef CAIRN_NN_CPU_CHANNEL_LOOPS_H_
#define CAIRN_NN_CPU_CHANNEL_LOOPS_H_

#include <cstdint>

namespace cairn::nn {

// Vectorized passes over a rows x channels matrix, for batch normalization fused with a ReLU. Sums
// are written, not accumulated, to one double per channel, because there may be millions of rows.
// Thread-safe: no shared state.

// y = clamp(x * scale + shift, low, top), per channel. A bound that is NaN does not apply.
struct ChannelMap {
  const float* scale = nullptr;
  const float* shift = nullptr;
  float low = 0;
  float top = 0;
};
void MapChannels(int64_t rows, int64_t channels, const float* x, const ChannelMap& map, float* y);

// Writes the sum of each channel to `sums`.
void SumChannels(int64_t rows, int64_t channels, const float* x, double* sums);

// The moments of a set of rows: their number, the mean of each channel, and the sum of squared
// deviations from it.
struct ChannelMoments {
  int64_t rows = 0;
  double* means = nullptr;
  double* squares = nullptr;
};
// Computes the moments of x in one pass. Deviations are taken from the mean of a few sampled rows,
// which is written to `shift`. It is close to the overall mean, so little precision is lost to
// cancellation.
void MeasureChannels(int64_t rows, int64_t channels, const float* x, float* shift,
                     ChannelMoments* moments);
// Merges the moments of two sets of rows into `to` (Chan et al. 1979).
// https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance#Parallel_algorithm
void AddMoments(int64_t channels, const ChannelMoments& from, ChannelMoments* to);

// The gradient of MapChannels before clamping is g where the value is between the bounds, otherwise
// 0. Writes the sums of that gradient, and of that gradient times (x - mean). `scratch` has room
// for two floats per channel.
void SumMapGradients(int64_t rows, int64_t channels, const float* x, const ChannelMap& map,
                     const float* mean, const float* g, float* scratch, double* sums,
                     double* products);
// out = a * (the gradient of SumMapGradients) + b * x + c, with one a, b and c per channel. `out`
// may equal `g`.
struct ChannelMix {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* c = nullptr;
};
void MixMapGradients(int64_t rows, int64_t channels, const float* x, const ChannelMap& map,
                     const ChannelMix& mix, const float* g, float* out);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CHANNEL_LOOPS_H_
