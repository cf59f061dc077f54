#ifndef CAIRN_NN_CPU_BLOCKED_KERNEL_H_
#define CAIRN_NN_CPU_BLOCKED_KERNEL_H_

#include <algorithm>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace cairn::nn {

// Reorders a convolution's kernel between Keras's layout (height, width, channels, filters) and
// oneDNN's blocked layouts, which store blocks of filters, or of filters and channels. oneDNN's own
// reorder from Keras's layout takes several times as long. Immutable; uses the calling thread's
// OpenMP threads.
class BlockedKernel {
 public:
  // `layout` describes the packed kernel (filters, channels, height, width). Returns nullopt if the
  // layout is not supported.
  static std::optional<BlockedKernel> Create(const dnnl::memory::desc& layout);

  void Pack(const float* keras, float* packed) const;
  // Requires can_unpack(). The other layouts are used for reading only.
  void Unpack(const float* packed, float* keras) const;
  bool can_unpack() const { return order_ != Order::kFiltersChannels; }

 private:
  enum class Order {
    kFilters,          // Blocks of filters; channels are not blocked.
    kChannelsFilters,  // Blocks of both; in a block filters are adjacent, as in Keras's layout.
    kFiltersChannels,  // Blocks of both; in a block channels are adjacent.
  };
  BlockedKernel() = default;

  int64_t blocks() const { return (filters_ + block_filters_ - 1) / block_filters_; }
  // The number of filters in a block; the last block may have fewer.
  int64_t FiltersOf(int64_t block) const {
    return std::min(block_filters_, filters_ - block * block_filters_);
  }
  // The number of channels copied at once: their rows of filters are evenly spaced.
  int64_t group() const { return order_ == Order::kFilters ? channels_ : block_channels_; }
  int64_t row_stride() const { return order_ == Order::kFilters ? strides_[1] : block_filters_; }
  // Calls work(packed offset, Keras offset) for each group of channels of each pixel of a block of
  // filters.
  template <typename Work>
  void ForPixels(int64_t block, const Work& work) const;

  Order order_ = Order::kFilters;
  int64_t filters_ = 0;
  int64_t channels_ = 0;
  int64_t height_ = 0;
  int64_t width_ = 0;
  // Block sizes: filters per block, channels per block.
  int64_t block_filters_ = 1;
  int64_t block_channels_ = 1;
  // Strides of the packed kernel: between blocks of filters, blocks of channels, rows, columns.
  int64_t strides_[4] = {};
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_BLOCKED_KERNEL_H_
