#ifndef CAIRN_NN_FORMATS_ONNX_CALL_H_
#define CAIRN_NN_FORMATS_ONNX_CALL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/formats/onnx_constant.h"
#include "nn/formats/onnx_layers.h"
#include "nn/formats/onnx_node.h"
#include "nn/formats/onnx_value.h"

namespace cairn::nn {

// A node that is read, with what its inputs are. The functions that read an operator
// (OnnxOperator) take it, add layers, and return the values of the node's outputs. Errors need not
// name the node.
struct OnnxCall {
  OnnxNode node;
  // By input: one of them, or neither if the input is absent.
  std::vector<std::optional<OnnxValue>> values;
  std::vector<const OnnxConstant*> constants;
  // By output: whether it is used.
  std::vector<bool> is_used;
  // The fixed size of the batch in the file, or 0.
  int64_t file_batch = 0;
  OnnxLayers* layers = nullptr;
  OnnxBudget* budget = nullptr;

  // Input i, which depends on the model's inputs.
  absl::StatusOr<OnnxValue> Value(size_t i = 0) const;
  // Input i, which is constant.
  absl::StatusOr<const OnnxConstant*> Constant(size_t i) const;
  const OnnxConstant* ConstantOrNull(size_t i) const;
  bool HasValue(size_t i) const { return i < values.size() && values[i].has_value(); }
  // Whole numbers from the attribute or, in newer operator sets, from constant input i. nullopt:
  // neither.
  absl::StatusOr<std::optional<std::vector<int64_t>>> Integers(const char* attribute,
                                                               size_t i) const;
  // The elements of constant input i, float, as the values of a variable.
  absl::StatusOr<OnnxWeight> Weight(size_t i) const;
  // The axis, counted from the front.
  absl::StatusOr<int> Axis(int64_t axis, int rank) const;
  // A name for a layer whose weights are input i.
  std::string LayerName(size_t i = 1) const;
  // INVALID_ARGUMENT: an output other than the first one is used.
  absl::Status ExpectOneOutput() const;
};

using OnnxOutputs = absl::StatusOr<std::vector<OnnxValue>>;
using OnnxOperator = OnnxOutputs (*)(const OnnxCall& call);

// The same elements in another order, if there is one.
std::vector<float> InOrder(const std::vector<float>& values, const std::vector<int64_t>& order);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_CALL_H_
