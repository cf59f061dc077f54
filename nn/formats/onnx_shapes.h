#ifndef CAIRN_NN_FORMATS_ONNX_SHAPES_H_
#define CAIRN_NN_FORMATS_ONNX_SHAPES_H_

#include <vector>

#include "nn/formats/onnx_call.h"

namespace cairn::nn {

// Operators that change shapes, take parts or put them together.
OnnxOutputs ReadOnnxIdentity(const OnnxCall& call);
OnnxOutputs ReadOnnxDropout(const OnnxCall& call);
OnnxOutputs ReadOnnxCast(const OnnxCall& call);
OnnxOutputs ReadOnnxTranspose(const OnnxCall& call);
OnnxOutputs ReadOnnxReshape(const OnnxCall& call);
OnnxOutputs ReadOnnxFlatten(const OnnxCall& call);
OnnxOutputs ReadOnnxSqueeze(const OnnxCall& call);
OnnxOutputs ReadOnnxUnsqueeze(const OnnxCall& call);
OnnxOutputs ReadOnnxConcat(const OnnxCall& call);
OnnxOutputs ReadOnnxExpand(const OnnxCall& call);
OnnxOutputs ReadOnnxGather(const OnnxCall& call);
OnnxOutputs ReadOnnxSlice(const OnnxCall& call);
OnnxOutputs ReadOnnxSplit(const OnnxCall& call);
OnnxOutputs ReadOnnxPad(const OnnxCall& call);

// The inputs of an elementwise operator or a Concat, in one order of their axes: layers, and what
// each of their outputs is for ONNX.
struct OnnxAligned {
  std::vector<int> layers;
  // The largest input as it then is.
  OnnxValue value;
  // By ONNX's axis: the axis of the layers' outputs, counted from 1; 0 is the batch.
  std::vector<int> places;
};
// `needs_places`: each axis of ONNX must be an axis of the layers' outputs. Otherwise inputs with
// equal views stay as they are, and `places` is only right where an axis is one factor.
absl::StatusOr<OnnxAligned> AlignOnnxValues(const OnnxCall& call, bool needs_places);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_SHAPES_H_
