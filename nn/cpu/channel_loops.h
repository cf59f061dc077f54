#ifndef CAIRN_NN_CPU_CHANNEL_LOOPS_H_
#define CAIRN_NN_CPU_CHANNEL_LOOPS_H_

#include <cstdint>

namespace cairn::nn {

// Vectorised passes over rows x channels numbers, for batch normalisation and the relu behind it.
// Sums go into doubles, of which there is one per channel and which are written, not added to:
// there may be millions of rows. Any number of threads.

// y = x * scale + shift, then cut to [low, top]; not a number: no such bound.
struct ChannelMap {
  const float* scale = nullptr;
  const float* shift = nullptr;
  float low = 0;
  float top = 0;
};
void MapChannels(int64_t rows, int64_t channels, const float* x, const ChannelMap& map, float* y);

void SumChannels(int64_t rows, int64_t channels, const float* x, double* sums);

// How many rows there are, their means, and the sums of their squared deviations from these.
struct ChannelMoments {
  int64_t rows = 0;
  double* means = nullptr;
  double* squares = nullptr;
};
// Of x, in one pass: deviations are taken from the mean of a few of the rows, which `shift` gets
// and which is near all rows' mean, so that little is lost when the difference is taken off.
void MeasureChannels(int64_t rows, int64_t channels, const float* x, float* shift,
                     ChannelMoments* moments);
// The moments of both together.
// https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance#Parallel_algorithm
void AddMoments(int64_t channels, const ChannelMoments& from, ChannelMoments* to);

// The gradient by MapChannels' uncut values is g where those lie between the bounds, else 0. Sums
// of that, and of that times (x - mean); `scratch` has room for two floats per channel.
void SumMapGradients(int64_t rows, int64_t channels, const float* x, const ChannelMap& map,
                     const float* mean, const float* g, float* scratch, double* sums,
                     double* products);
// out = a * (that gradient) + b * x + c, each per channel. `out` may be `g`.
struct ChannelMix {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* c = nullptr;
};
void MixMapGradients(int64_t rows, int64_t channels, const float* x, const ChannelMap& map,
                     const ChannelMix& mix, const float* g, float* out);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CHANNEL_LOOPS_H_
