#include "nn/cpu/depthwise_loops.h"

#include "common/simd.h"

// Inlines helpers into CAIRN_SIMD functions, so that they are compiled for each of those functions'
// instruction sets.
#define CAIRN_INLINE __attribute__((always_inline)) inline

namespace cairn::nn {
namespace {

constexpr int64_t kSide = 3;
constexpr int64_t kLanes = 16;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

CAIRN_INLINE const Lanes& Load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }
CAIRN_INLINE void Store(const Lanes& value, float* to) { *reinterpret_cast<Lanes*>(to) = value; }

// Each block of channels is computed along the whole row, so that its part of the kernel stays in
// registers. That access pattern is strided, so the following rows are prefetched in memory order
// meanwhile: while the block at channel `c` is computed, this function prefetches the corresponding
// share of `pixels` pixels from `next`.
CAIRN_INLINE void PrefetchShare(const float* next, int64_t pixels, int64_t c) {
  const float* const share = next + pixels * c;
  for (int64_t i = 0; i < pixels; ++i) __builtin_prefetch(share + i * kLanes, 0, /*locality=*/2);
}

// One block of channels of the kernel or of its gradient.
struct Block {
  CAIRN_INLINE Block(const float* kernel, int64_t channels) {
    for (int64_t k = 0; k < kSide * kSide; ++k)
      at[k / kSide][k % kSide] = Load(kernel + k * channels);
  }
  CAIRN_INLINE void StoreTo(float* kernel, int64_t channels) const {
    for (int64_t k = 0; k < kSide * kSide; ++k)
      Store(at[k / kSide][k % kSide], kernel + k * channels);
  }
  // Writes `start` plus the sum over kernel columns [first, last) of a window that starts at offset
  // `place`. `mirrored` reverses the columns.
  template <int64_t first, int64_t last, bool mirrored>
  CAIRN_INLINE void Write(const Lanes& start, const float* const rows[3], int64_t place,
                          int64_t channels, float* output) const {
    Lanes sum = start;
#pragma GCC unroll 3
    for (int64_t i = 0; i < kSide; ++i) {
#pragma GCC unroll 3
      for (int64_t j = first; j < last; ++j) {
        sum += Load(rows[i] + place + j * channels) * at[i][mirrored ? kSide - 1 - j : j];
      }
    }
    Store(sum, output);
  }
  // Adds the contribution of a window to the gradients of kernel columns [first, last).
  template <int64_t first, int64_t last>
  CAIRN_INLINE void Add(const Lanes& gradient, const float* const rows[3], int64_t place,
                        int64_t channels) {
#pragma GCC unroll 3
    for (int64_t i = 0; i < kSide; ++i) {
#pragma GCC unroll 3
      for (int64_t j = first; j < last; ++j) {
        at[i][j] += Load(rows[i] + place + j * channels) * gradient;
      }
    }
  }

  Lanes at[kSide][kSide];
};

// Computes one block of channels along a row. At the row's ends only the kernel columns inside the
// image are used.
template <bool mirrored>
CAIRN_INLINE void WriteSums(const DepthwiseRow& row, const float* const rows[3],
                            const Block& kernel, const Lanes& start, float* output) {
  const int64_t channels = row.channels;
  for (int64_t x = 0; x < row.outputs; ++x, output += channels) {
    const int64_t left = x * row.stride - row.padding;
    const int64_t place = left * channels;
    if (left >= 0 && left + kSide <= row.inputs) {
      kernel.Write<0, 3, mirrored>(start, rows, place, channels, output);
    } else if (left >= 0) {
      kernel.Write<0, 2, mirrored>(start, rows, place, channels, output);
    } else if (left + kSide <= row.inputs) {
      kernel.Write<1, 3, mirrored>(start, rows, place, channels, output);
    } else {
      kernel.Write<1, 2, mirrored>(start, rows, place, channels, output);
    }
  }
}

// The input gradient for stride 2, two pixels at a time: the first and last kernel columns
// contribute to every second pixel, the middle column to the others.
CAIRN_INLINE void WritePairs(const DepthwiseRow& row, const float* const rows[3],
                             const Block& kernel, float* input) {
  const int64_t channels = row.channels;
  for (int64_t x = 0; 2 * x - row.padding < row.inputs; ++x) {
    Lanes even = {};
    Lanes odd = {};
#pragma GCC unroll 3
    for (int64_t i = 0; i < kSide; ++i) {
      if (x < row.outputs) {
        const Lanes gradient = Load(rows[i] + x * channels);
        even += gradient * kernel.at[i][0];
        odd += gradient * kernel.at[i][1];
      }
      if (x > 0) even += Load(rows[i] + (x - 1) * channels) * kernel.at[i][2];
    }
    const int64_t place = 2 * x - row.padding;
    if (place >= 0) Store(even, input + place * channels);
    if (place + 1 < row.inputs) Store(odd, input + (place + 1) * channels);
  }
}

}  // namespace

bool DepthwiseRow::fits() const {
  const int64_t after = (outputs - 1) * stride - padding + kSide - inputs;
  if (channels % kLanes != 0 || padding > 1 || after > 1) return false;
  // The input gradient of stride 1 is a convolution with the mirrored kernel and padding 2 -
  // `padding`.
  return stride == 2 || (stride == 1 && padding == 1 && after == 1);
}

CAIRN_SIMD void WriteDepthwiseOutput(const DepthwiseRow& row, const float* const rows[3],
                                     const float* kernel, const float* bias, float* output) {
  const int64_t input_width = row.inputs * row.channels;
  const int64_t output_width = row.outputs * row.channels;
  for (int64_t c = 0; c < row.channels; c += kLanes) {
    const float* const block_rows[kSide] = {rows[0] + c, rows[1] + c, rows[2] + c};
    PrefetchShare(rows[2] + input_width, row.stride * row.inputs, c);
    PrefetchShare(output + output_width, row.outputs, c);
    const Lanes start = bias == nullptr ? Lanes{} : Load(bias + c);
    WriteSums</*mirrored=*/false>(row, block_rows, Block(kernel + c, row.channels), start,
                                  output + c);
  }
}

CAIRN_SIMD void AddDepthwiseKernelGradient(const DepthwiseRow& row, const float* const rows[3],
                                           const float* output_gradient, float* kernel_gradient) {
  const int64_t channels = row.channels;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const float* const block_rows[kSide] = {rows[0] + c, rows[1] + c, rows[2] + c};
    PrefetchShare(rows[2] + row.inputs * channels, row.stride * row.inputs, c);
    PrefetchShare(output_gradient + row.outputs * channels, row.outputs, c);
    Block block(kernel_gradient + c, channels);
    for (int64_t x = 0; x < row.outputs; ++x) {
      const Lanes gradient = Load(output_gradient + x * channels + c);
      const int64_t left = x * row.stride - row.padding;
      const int64_t place = left * channels;
      if (left >= 0 && left + kSide <= row.inputs) {
        block.Add<0, 3>(gradient, block_rows, place, channels);
      } else if (left >= 0) {
        block.Add<0, 2>(gradient, block_rows, place, channels);
      } else if (left + kSide <= row.inputs) {
        block.Add<1, 3>(gradient, block_rows, place, channels);
      } else {
        block.Add<1, 2>(gradient, block_rows, place, channels);
      }
    }
    block.StoreTo(kernel_gradient + c, channels);
  }
}

CAIRN_SIMD void WriteDepthwiseInputGradient(const DepthwiseRow& row, const float* const rows[3],
                                            const float* kernel, float* input_gradient) {
  const int64_t input_width = row.inputs * row.channels;
  const int64_t output_width = row.outputs * row.channels;
  for (int64_t c = 0; c < row.channels; c += kLanes) {
    const float* const block_rows[kSide] = {rows[0] + c, rows[1] + c, rows[2] + c};
    PrefetchShare(rows[0] + output_width, row.outputs, c);
    PrefetchShare(input_gradient + input_width, row.inputs, c);
    const Block block(kernel + c, row.channels);
    if (row.stride == 1) {
      WriteSums</*mirrored=*/true>(row, block_rows, block, Lanes{}, input_gradient + c);
    } else {
      WritePairs(row, block_rows, block, input_gradient + c);
    }
  }
}

}  // namespace cairn::nn
