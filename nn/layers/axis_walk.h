#ifndef CAIRN_NN_LAYERS_AXIS_WALK_H_
#define CAIRN_NN_LAYERS_AXIS_WALK_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "nn/tensor.h"

namespace cairn::nn {

// How one axis of an output walks over its input: at position i the input's position moves by
// (i - offset) * input_stride; where i - offset is not in [0, input_length) there is no input.
struct AxisWalk {
  int64_t length = 1;
  int64_t offset = 0;
  int64_t input_length = 1;
  int64_t input_stride = 0;
};

// The elements between neighbours along each axis of a row-major tensor.
std::vector<int64_t> StridesOf(const Shape& shape);

// For every element of the output, row-major, the element of the input that it comes from, or -1.
std::vector<int64_t> SourcesOf(absl::Span<const AxisWalk> walks);

// The walk over an input that is broadcast to `output`: as many axes, each of the output's length
// or of 1.
std::vector<AxisWalk> BroadcastWalk(const Shape& input, const Shape& output);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_AXIS_WALK_H_
