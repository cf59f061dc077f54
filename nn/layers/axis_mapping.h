#ifndef CAIRN_NN_LAYERS_AXIS_MAPPING_H_
#define CAIRN_NN_LAYERS_AXIS_MAPPING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "nn/tensor.h"

namespace cairn::nn {

// Maps one axis of an output to its input. Position i of the axis reads the input at (i - offset) *
// input_stride; if i - offset is not in [0, input_length) the output is zero. One AxisMapping per
// output axis describes padding, cropping, permutation, repetition and broadcasting.
struct AxisMapping {
  int64_t length = 1;
  int64_t offset = 0;
  int64_t input_length = 1;
  int64_t input_stride = 0;
};

// The row-major strides of `shape`, in elements.
std::vector<int64_t> StridesOf(const Shape& shape);

// For each element of the output, in row-major order: the index of the input element that it
// copies, or -1 for zero.
std::vector<int64_t> SourcesOf(absl::Span<const AxisMapping> mappings);

// The mappings that broadcast `input` to `output`. Both have the same rank, and each axis of
// `input` has the output's length or 1.
std::vector<AxisMapping> BroadcastMappings(const Shape& input, const Shape& output);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_AXIS_MAPPING_H_
