#ifndef CAIRN_NN_FORMATS_ONNX_READER_H_
#define CAIRN_NN_FORMATS_ONNX_READER_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"

namespace cairn::nn {

// Reads ONNX files: the operators that are layers of Keras, with their weights. Two kinds of files
// are read. Those of PyTorch have images with the channels first; the model takes and returns them
// with the channels last, and weights are moved accordingly. Those of Cairn and tf2onnx take images
// with the channels last and transpose them; so does the model, without layers for it.
//
// The graph is read symbolically: sizes and constants are computed, views (OnnxValue) stand for
// Reshape, Transpose and the like, and patterns of operators for activations. What several layers
// do not compute exactly is refused by operator and node. The work is bounded by the file's size.

bool IsOnnxFile(std::string_view file);

// INVALID_ARGUMENT names the node and the operator, and what is supported.
absl::StatusOr<ImportedModel> ReadOnnxFile(std::string_view file,
                                           absl::Span<const std::string> file_contents);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_READER_H_
