#ifndef CAIRN_NN_FORMATS_ONNX_RECURRENT_H_
#define CAIRN_NN_FORMATS_ONNX_RECURRENT_H_

#include <optional>
#include <vector>

#include "nn/formats/onnx_call.h"

namespace cairn::nn {

// LSTM, GRU and RNN, in one direction or two. The outputs are ONNX's Y (steps, directions, batch,
// units) and Y_h (directions, batch, units).
OnnxOutputs ReadOnnxRecurrent(const OnnxCall& call);

// A Bidirectional layer, if the inputs of the call are the two directions of one: layers of one
// kind and input, the second of which goes backwards. `mode`: Keras's merge_mode; of "concat",
// `axis` is the axis of ONNX along which they are joined.
absl::StatusOr<std::optional<OnnxValue>> MergeOnnxDirections(const OnnxCall& call, const char* mode,
                                                             int axis = -1);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_RECURRENT_H_
