#include "nn/cpu/blocked_kernel.h"

#include <algorithm>
#include <cstring>

#include "common/check.h"
#include "common/simd.h"
#include "nn/cpu/parallel.h"

namespace cairn::nn {
namespace {

constexpr int64_t kBlock = 16;
typedef float Lanes __attribute__((vector_size(kBlock * sizeof(float)), aligned(4), may_alias));

// Prefetch distance in rows. Rows of a kernel are kilobytes apart, which the hardware prefetcher
// does not follow.
constexpr int64_t kRowsAhead = 8;

// Copies `rows` rows of `count` floats each and zero-fills rows of `to` up to `to_count` floats.
CAIRN_SIMD void CopyRows(int64_t rows, int64_t count, const float* from, int64_t from_stride,
                         float* to, int64_t to_stride, int64_t to_count) {
  for (int64_t row = 0; row < rows; ++row, from += from_stride, to += to_stride) {
    __builtin_prefetch(from + kRowsAhead * from_stride);
    int64_t i = 0;
    for (; i + kBlock <= count; i += kBlock) {
      *reinterpret_cast<Lanes*>(to + i) = *reinterpret_cast<const Lanes*>(from + i);
    }
    for (; i < count; ++i) to[i] = from[i];
    for (; i < to_count; ++i) to[i] = 0;
  }
}

// Transposes a block: to[o][i] = from[i][o], with `stride` floats between rows of `from`. Each of
// the four rounds interleaves pairs of rows that are half a block apart, which turns one bit of the
// row index into one bit of the column index.
CAIRN_SIMD void Transpose(const float* from, int64_t stride, float* to) {
  Lanes rows[kBlock];
  Lanes mixed[kBlock];
  for (int64_t i = 0; i < kBlock; ++i) {
    __builtin_prefetch(from + (i + kBlock) * stride);
    rows[i] = *reinterpret_cast<const Lanes*>(from + i * stride);
  }
  for (int round = 0; round < 4; ++round) {
    for (int64_t i = 0; i < kBlock / 2; ++i) {
      const Lanes a = rows[i];
      const Lanes b = rows[i + kBlock / 2];
      mixed[2 * i] =
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      mixed[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                 14, 30, 15, 31);
    }
    for (int64_t i = 0; i < kBlock; ++i) rows[i] = mixed[i];
  }
  for (int64_t i = 0; i < kBlock; ++i) *reinterpret_cast<Lanes*>(to + i * kBlock) = rows[i];
}

}  // namespace

std::optional<BlockedKernel> BlockedKernel::Create(const dnnl::memory::desc& layout) {
  const dnnl_memory_desc_t& d = layout.data;
  if (d.ndims != 4 || d.format_kind != dnnl_blocked || d.extra.flags != 0) return std::nullopt;
  const dnnl_blocking_desc_t& blocking = d.format_desc.blocking;
  BlockedKernel result;
  result.filters_ = d.dims[0];
  result.channels_ = d.dims[1];
  result.height_ = d.dims[2];
  result.width_ = d.dims[3];
  std::copy_n(blocking.strides, 4, result.strides_);
  result.block_filters_ = blocking.inner_blks[0];
  // oneDNN names the dimensions of the inner blocks by index: 0 is filters, 1 is channels.
  if (blocking.inner_nblks == 1 && blocking.inner_idxs[0] == 0) return result;
  const bool has_squares = blocking.inner_nblks == 2 && blocking.inner_blks[0] == kBlock &&
                           blocking.inner_blks[1] == kBlock &&
                           blocking.inner_idxs[0] + blocking.inner_idxs[1] == 1;
  if (!has_squares || d.dims[0] % kBlock != 0 || d.dims[1] % kBlock != 0) return std::nullopt;
  result.block_channels_ = kBlock;
  result.order_ = blocking.inner_idxs[0] == 0 ? Order::kFiltersChannels : Order::kChannelsFilters;
  return result;
}

template <typename Work>
void BlockedKernel::ForPixels(int64_t block, const Work& work) const {
  for (int64_t pixel = 0; pixel < height_ * width_; ++pixel) {
    for (int64_t i = 0; i < channels_; i += group()) {
      work(block * strides_[0] + pixel / width_ * strides_[2] + pixel % width_ * strides_[3] +
               i / block_channels_ * strides_[1],
           (pixel * channels_ + i) * filters_ + block * block_filters_);
    }
  }
}

void BlockedKernel::Pack(const float* keras, float* packed) const {
  RunInParallel(blocks(), [&](int64_t block) {
    ForPixels(block, [&](int64_t to, int64_t from) {
      if (order_ == Order::kFiltersChannels) {
        Transpose(keras + from, filters_, packed + to);
      } else {
        CopyRows(group(), FiltersOf(block), keras + from, filters_, packed + to, row_stride(),
                 block_filters_);
      }
    });
  });
}

void BlockedKernel::Unpack(const float* packed, float* keras) const {
  CAIRN_CHECK(can_unpack());
  RunInParallel(blocks(), [&](int64_t block) {
    ForPixels(block, [&](int64_t from, int64_t to) {
      CopyRows(group(), FiltersOf(block), packed + from, row_stride(), keras + to, filters_,
               /*to_count=*/0);
    });
  });
}

}  // namespace cairn::nn
