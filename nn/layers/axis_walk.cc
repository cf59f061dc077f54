#include "nn/layers/axis_walk.h"

namespace cairn::nn {

std::vector<int64_t> StridesOf(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (int i = static_cast<int>(shape.size()) - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * shape[i + 1];
  }
  return strides;
}

std::vector<int64_t> SourcesOf(absl::Span<const AxisWalk> walks) {
  std::vector<int64_t> sources = {0};
  for (const AxisWalk& walk : walks) {
    std::vector<int64_t> longer;
    longer.reserve(sources.size() * walk.length);
    for (int64_t source : sources) {
      for (int64_t i = -walk.offset; i < walk.length - walk.offset; ++i) {
        const bool is_inside = source >= 0 && i >= 0 && i < walk.input_length;
        longer.push_back(is_inside ? source + i * walk.input_stride : -1);
      }
    }
    sources = std::move(longer);
  }
  return sources;
}

std::vector<AxisWalk> BroadcastWalk(const Shape& input, const Shape& output) {
  const std::vector<int64_t> strides = StridesOf(input);
  std::vector<AxisWalk> walks;
  for (size_t axis = 0; axis < output.size(); ++axis) {
    const int64_t length = output[axis];
    const int64_t stride = input[axis] == length ? strides[axis] : 0;
    walks.push_back({.length = length, .input_length = length, .input_stride = stride});
  }
  return walks;
}

}  // namespace cairn::nn
