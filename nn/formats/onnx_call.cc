#include "nn/formats/onnx_call.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<OnnxValue> OnnxCall::Value(size_t i) const {
  if (HasValue(i)) return *values[i];
  return absl::InvalidArgumentError(
      absl::StrCat("input ", i, " is ", ConstantOrNull(i) == nullptr ? "missing" : "constant",
                   "; it must depend on the model's inputs"));
}

const OnnxConstant* OnnxCall::ConstantOrNull(size_t i) const {
  return i < constants.size() ? constants[i] : nullptr;
}

absl::StatusOr<const OnnxConstant*> OnnxCall::Constant(size_t i) const {
  if (const OnnxConstant* const constant = ConstantOrNull(i)) return constant;
  return absl::InvalidArgumentError(
      absl::StrCat("input ", i, HasValue(i) ? " is computed; it must be constant" : " is missing"));
}

absl::StatusOr<std::optional<std::vector<int64_t>>> OnnxCall::Integers(const char* attribute,
                                                                       size_t i) const {
  std::optional<std::vector<int64_t>> numbers = node.Ints(attribute);
  if (numbers.has_value() || (ConstantOrNull(i) == nullptr && !HasValue(i))) return numbers;
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const constant, Constant(i));
  if (constant->is_float || constant->is_uniform) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " is no list of whole numbers"));
  }
  numbers = constant->integers;
  return numbers;
}

absl::StatusOr<OnnxWeight> OnnxCall::Weight(size_t i) const {
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const constant, Constant(i));
  if (!constant->is_float || constant->is_uniform) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " has no float elements"));
  }
  CAIRN_RETURN_IF_ERROR(budget->Spend(static_cast<int64_t>(constant->floats.size())));
  return OnnxWeight{constant->name, constant->floats};
}

absl::StatusOr<int> OnnxCall::Axis(int64_t axis, int rank) const {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  return absl::InvalidArgumentError(
      absl::StrCat("axis ", axis, " is not one of the ", rank, " axes of the input"));
}

std::string OnnxCall::LayerName(size_t i) const {
  const OnnxConstant* const constant = ConstantOrNull(i);
  return OnnxLayerName(constant == nullptr ? "" : constant->name, node.proto().name(), node.op());
}

absl::Status OnnxCall::ExpectOneOutput() const {
  for (size_t i = 1; i < is_used.size(); ++i) {
    if (!is_used[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("its output ", i, " is used; only the first one is supported"));
  }
  return absl::OkStatus();
}

std::vector<float> InOrder(const std::vector<float>& values, const std::vector<int64_t>& order) {
  if (order.empty()) return values;
  std::vector<float> result;
  result.reserve(order.size());
  for (const int64_t i : order) result.push_back(values[i]);
  return result;
}

}  // namespace cairn::nn
