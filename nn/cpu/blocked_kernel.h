#ifndef CAIRN_NN_CPU_BLOCKED_KERNEL_H_
#define CAIRN_NN_CPU_BLOCKED_KERNEL_H_

#include <algorithm>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace cairn::nn {

// Moves a convolution's kernel between Keras's layout (height, width, channels, filters) and those
// of oneDNN that keep blocks of filters, or of filters and channels, together. oneDNN's own reorder
// takes several times as long on the way from Keras's.
class BlockedKernel {
 public:
  // `layout`: of (filters, channels, height, width). None if it is not such a layout.
  static std::optional<BlockedKernel> Create(const dnnl::memory::desc& layout);

  void Pack(const float* keras, float* packed) const;
  // Only if can_unpack(): nobody needs the way back from the others.
  void Unpack(const float* packed, float* keras) const;
  bool can_unpack() const { return order_ != Order::kFiltersChannels; }

 private:
  enum class Order {
    kFilters,          // Blocks of filters; channels one by one.
    kChannelsFilters,  // In a block filters lie beside each other, as in Keras's layout.
    kFiltersChannels,  // In a block channels lie beside each other.
  };
  BlockedKernel() = default;

  int64_t blocks() const { return (filters_ + block_filters_ - 1) / block_filters_; }
  // The last block may have fewer than others.
  int64_t FiltersOf(int64_t block) const {
    return std::min(block_filters_, filters_ - block * block_filters_);
  }
  // The channels that are moved in one go: their rows of filters lie at even distances.
  int64_t group() const { return order_ == Order::kFilters ? channels_ : block_channels_; }
  int64_t row_stride() const { return order_ == Order::kFilters ? strides_[1] : block_filters_; }
  // Calls work(packed offset, Keras's offset) for each group of each pixel of a block of filters.
  template <typename Work>
  void ForPixels(int64_t block, const Work& work) const;

  Order order_ = Order::kFilters;
  int64_t filters_ = 0;
  int64_t channels_ = 0;
  int64_t height_ = 0;
  int64_t width_ = 0;
  // Filters in a block, channels in a block.
  int64_t block_filters_ = 1;
  int64_t block_channels_ = 1;
  // Between blocks of filters, blocks of channels, rows, columns of the packed kernel.
  int64_t strides_[4] = {};
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_BLOCKED_KERNEL_H_
