#ifndef CAIRN_NN_FORMATS_ONNX_VALUE_H_
#define CAIRN_NN_FORMATS_ONNX_VALUE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/tensor.h"

namespace cairn::nn {

// A value of an ONNX graph that depends on the model's inputs: the output of a layer, seen with
// ONNX's axes. Transpose, Reshape, Flatten, Squeeze and Unsqueeze only change the view; they cost
// a layer only where a later operator needs another order in memory. So images with their channels
// first in the file have them last in the model, without layers between.
//
// The layer's output is a row-major tensor of `sizes` (perhaps of another shape with as many
// elements). Factor 0 is the batch, factor i is sizes[i - 1]. Each axis of ONNX is the product of
// some factors, outermost first; of none if its size is 1.
//
//   An image (batch, 3, 32, 32) of a layer with the output (32, 32, 3):
//     sizes 32, 32, 3    axes {0}, {3}, {1}, {2}
//   Flattened, as before a Gemm: axes {0}, {3, 1, 2}
struct OnnxValue {
  int layer = -1;
  Shape sizes;
  std::vector<std::vector<int>> axes;
  // A factor whose elements the layer has in the opposite order, or -1.
  int reversed = -1;
  // Whether nothing else uses the layer's output.
  bool is_exclusive = true;

  int rank() const { return static_cast<int>(axes.size()); }
  // The size of a factor, kOnnxBatch for the batch.
  int64_t FactorSize(int factor) const;
  int64_t AxisSize(int axis) const;
  Shape shape() const;
  // Whether an axis is the batch and nothing else.
  bool IsBatch(int axis) const;
  // The axis that is the batch, or -1.
  int batch_axis() const;
};

// The output of a layer as it is, the batch first.
OnnxValue WholeValue(int layer, const Shape& shape);

// The output of a layer with the channels last, as ONNX sees it: the channels after the batch.
OnnxValue ChannelsFirst(int layer, const Shape& shape);

// The value with other sizes of its axes, which must fill it. nullopt: a view cannot say that.
std::optional<OnnxValue> Regrouped(const OnnxValue& value, const Shape& sizes);

// The shapes that the argument of a Reshape may mean, the likeliest first: 0 is the size of the
// axis before, -1 is what is left. `file_batch`: the size of the batch in the file, if it is fixed,
// else 0. It may stand for any batch.
std::vector<Shape> ReshapeTargets(const OnnxValue& value, Shape sizes, int64_t file_batch);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_VALUE_H_
