#ifndef CAIRN_NN_FORMATS_ONNX_PATTERN_H_
#define CAIRN_NN_FORMATS_ONNX_PATTERN_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/onnx.pb.h"

namespace cairn::nn {

// What a graph says of the name of a value.
struct OnnxNames {
  // The node with this output; null for inputs and constants.
  std::function<const onnx::NodeProto*(const std::string&)> producer;
  // The value of a constant of one element.
  std::function<std::optional<double>(const std::string&)> scalar;
};

// The parts of a graph that a pattern's letters stand for.
struct OnnxMatch {
  std::map<char, std::string> values;  // By lower-case letter: the name of a value.
  std::map<char, double> numbers;      // By capital: the value of a constant.
};

// Whether `node` computes `pattern`, for example "Mul(x, Add(Tanh(x), 0.5))". An equal letter
// stands for an equal value. The inputs of Add and Mul may be swapped. Attributes are not looked
// at.
bool MatchesOnnx(std::string_view pattern, const onnx::NodeProto& node, const OnnxNames& names,
                 OnnxMatch* match);

// A function that programs and exporters write as several operators.
struct OnnxActivation {
  std::string x;                    // Its input.
  std::string class_name;           // A layer: "Activation", "ReLU".
  std::string activation;           // Keras's name, of an Activation.
  double threshold = 0, slope = 0;  // Of a ReLU.
};

// The activation that `node` ends, if it does.
std::optional<OnnxActivation> FindOnnxActivation(const onnx::NodeProto& node,
                                                 const OnnxNames& names);

// The operators of a multi-head attention, as Cairn exports it.
struct OnnxAttention {
  // The names of: the query, the value, the key; the kernel and, if there are biases, the bias of
  // query, key, value and output; the mask, if there is one.
  std::vector<std::string> inputs;
  bool use_bias = false;
  bool has_mask = false;
  double scale = 1;  // Of the scores.
};

// The attention that `node` ends, if it does.
std::optional<OnnxAttention> FindOnnxAttention(const onnx::NodeProto& node, const OnnxNames& names);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_PATTERN_H_
