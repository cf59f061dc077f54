#include "nn/layers/axis_mapping.h"

namespace cairn::nn {

std::vector<int64_t> StridesOf(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (int i = static_cast<int>(shape.size()) - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * shape[i + 1];
  }
  return strides;
}

std::vector<int64_t> SourcesOf(absl::Span<const AxisMapping> mappings) {
  std::vector<int64_t> sources = {0};
  for (const AxisMapping& mapping : mappings) {
    std::vector<int64_t> longer;
    longer.reserve(sources.size() * mapping.length);
    for (int64_t source : sources) {
      for (int64_t i = -mapping.offset; i < mapping.length - mapping.offset; ++i) {
        const bool is_inside = source >= 0 && i >= 0 && i < mapping.input_length;
        longer.push_back(is_inside ? source + i * mapping.input_stride : -1);
      }
    }
    sources = std::move(longer);
  }
  return sources;
}

std::vector<AxisMapping> BroadcastMappings(const Shape& input, const Shape& output) {
  const std::vector<int64_t> strides = StridesOf(input);
  std::vector<AxisMapping> mappings;
  for (size_t axis = 0; axis < output.size(); ++axis) {
    const int64_t length = output[axis];
    const int64_t stride = input[axis] == length ? strides[axis] : 0;
    mappings.push_back({.length = length, .input_length = length, .input_stride = stride});
  }
  return mappings;
}

}  // namespace cairn::nn
