#ifndef CAIRN_NN_FORMATS_ONNX_ENCODING_H_
#define CAIRN_NN_FORMATS_ONNX_ENCODING_H_

#include <optional>
#include <string>

#include "nn/formats/onnx_call.h"
#include "nn/formats/onnx_pattern.h"

namespace cairn::nn {

// The operators of an encoding of categories, as Cairn exports CategoryEncoding and StringLookup.
struct OnnxEncoding {
  std::string x;      // Its input: numbers, or the texts of `lookup`.
  std::string table;  // The constant of all indices; empty if there is only index 0.
  const char* mode;   // Keras's output_mode.
  const onnx::NodeProto* lookup = nullptr;  // The LabelEncoder before it, or null.
};

// The encoding that `node` ends, if it does.
std::optional<OnnxEncoding> FindOnnxEncoding(const onnx::NodeProto& node, const OnnxNames& names);

// Reads an encoding. The inputs of the call are its input and its table, if it has one.
OnnxOutputs ReadOnnxEncoding(const OnnxCall& call, const OnnxEncoding& encoding);

// LabelEncoder is a StringLookup. Equal is only read as a part of an encoding.
OnnxOutputs ReadOnnxLabelEncoder(const OnnxCall& call);
OnnxOutputs ReadOnnxPartOfEncoding(const OnnxCall& call);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_ENCODING_H_
