#include "nn/formats/onnx_constant.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/half.h"
#include "common/status_macros.h"
#include "nn/formats/imported_model.h"

namespace cairn::nn {
namespace {

using Tensor = onnx::TensorProto;
using Inputs = std::vector<const OnnxConstant*>;

absl::Status Error(const std::string& reason) { return absl::InvalidArgumentError(reason); }

// The number of elements; -1 if it is none, or too large.
int64_t CountOf(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > kTensorElementsMax) {
      return -1;
    }
  }
  return count;
}

template <typename T>
std::vector<T> FromBytes(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Elements of type T from raw bytes or from the list of the type.
template <typename T, typename List, typename Result>
void Read(const Tensor& tensor, const List& list, std::vector<Result>* result) {
  if (!tensor.raw_data().empty()) {
    const std::vector<T> values = FromBytes<T>(tensor.raw_data());
    result->assign(values.begin(), values.end());
    return;
  }
  result->reserve(list.size());
  for (const auto value : list) result->push_back(static_cast<Result>(static_cast<T>(value)));
}

absl::Status ReadElements(const Tensor& tensor, OnnxConstant* constant) {
  constant->is_float = false;
  std::vector<uint16_t> halves;
  switch (tensor.data_type()) {
    case Tensor::FLOAT:
      Read<float>(tensor, tensor.float_data(), &constant->floats);
      break;
    case Tensor::DOUBLE:
      Read<double>(tensor, tensor.double_data(), &constant->floats);
      break;
    case Tensor::FLOAT16:
    case Tensor::BFLOAT16:
      Read<uint16_t>(tensor, tensor.int32_data(), &halves);
      for (const uint16_t bits : halves) {
        constant->floats.push_back(tensor.data_type() == Tensor::FLOAT16 ? FloatFromFloat16(bits)
                                                                         : FloatFromBfloat16(bits));
      }
      break;
    case Tensor::INT64:
      Read<int64_t>(tensor, tensor.int64_data(), &constant->integers);
      return absl::OkStatus();
    case Tensor::INT32:
      Read<int32_t>(tensor, tensor.int32_data(), &constant->integers);
      return absl::OkStatus();
    case Tensor::UINT8:
    case Tensor::BOOL:
      Read<uint8_t>(tensor, tensor.int32_data(), &constant->integers);
      return absl::OkStatus();
    case Tensor::INT8:
      Read<int8_t>(tensor, tensor.int32_data(), &constant->integers);
      return absl::OkStatus();
    default:
      return Error(absl::StrCat(
          "tensor '", tensor.name(), "' has the data type ", static_cast<int>(tensor.data_type()),
          "; supported: float, double, float16, bfloat16, int64, int32, int8, uint8, bool"));
  }
  constant->is_float = true;
  return absl::OkStatus();
}

// The axis counted from the front; -1 if there is none.
int64_t AxisOf(int64_t axis, size_t rank) {
  const int64_t count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return -1;
  return axis < 0 ? axis + count : axis;
}

// Axes from the attribute or, in newer operator sets, from an input. nullopt: neither.
std::optional<std::vector<int64_t>> AxesOf(const OnnxNode& node, const Inputs& inputs, size_t i) {
  if (auto axes = node.Ints("axes")) return axes;
  if (inputs.size() > i && inputs[i] != nullptr) return inputs[i]->integers;
  return std::nullopt;
}

OnnxConstant Reshaped(const OnnxConstant& x, Shape shape) {
  OnnxConstant result = x;
  result.shape = std::move(shape);
  return result;
}

absl::StatusOr<OnnxConstant> Unsqueeze(const OnnxNode& node, const Inputs& inputs) {
  const auto axes = AxesOf(node, inputs, 1);
  if (!axes.has_value()) return Error("has no axes");
  const size_t rank = inputs[0]->shape.size() + axes->size();
  std::vector<bool> is_new(rank, false);
  for (const int64_t axis : *axes) {
    const int64_t at = AxisOf(axis, rank);
    if (at < 0 || is_new[at]) return Error("has wrong axes");
    is_new[at] = true;
  }
  Shape shape;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) shape.push_back(is_new[i] ? 1 : inputs[0]->shape[next++]);
  return Reshaped(*inputs[0], shape);
}

absl::StatusOr<OnnxConstant> Squeeze(const OnnxNode& node, const Inputs& inputs) {
  const Shape& from = inputs[0]->shape;
  const auto axes = AxesOf(node, inputs, 1);
  std::vector<bool> goes(from.size(), false);
  for (size_t i = 0; !axes.has_value() && i < from.size(); ++i) goes[i] = from[i] == 1;
  for (const int64_t axis : axes.value_or(std::vector<int64_t>())) {
    const int64_t at = AxisOf(axis, from.size());
    if (at < 0 || from[at] != 1) return Error("has wrong axes");
    goes[at] = true;
  }
  Shape shape;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!goes[i]) shape.push_back(from[i]);
  }
  return Reshaped(*inputs[0], shape);
}

absl::StatusOr<OnnxConstant> Reshape(const OnnxNode& node, const Inputs& inputs) {
  node.Ignore({"allowzero"});
  const OnnxConstant& x = *inputs[0];
  if (inputs[1] == nullptr || inputs[1]->is_uniform) return Error("has no shape");
  Shape shape = inputs[1]->integers;
  int64_t* open = nullptr;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i < x.shape.size()) shape[i] = x.shape[i];
    if (shape[i] == -1) open = &shape[i];
  }
  const int64_t count = CountOf(x.shape);
  if (open != nullptr) {
    *open = 1;
    const int64_t others = CountOf(shape);
    if (others > 0 && count >= 0 && count % others == 0) *open = count / others;
  }
  if (CountOf(shape) != count || count < 0)
    return Error("has a shape that its input does not fill");
  return Reshaped(x, shape);
}

absl::StatusOr<OnnxConstant> Cast(const OnnxNode& node, const Inputs& inputs) {
  node.Ignore({"saturate"});
  const int64_t to = node.Int("to", 0);
  OnnxConstant result = *inputs[0];
  const bool to_float = to == Tensor::FLOAT || to == Tensor::DOUBLE || to == Tensor::FLOAT16 ||
                        to == Tensor::BFLOAT16;
  if (to == Tensor::STRING) return Error("casts to strings");
  if (to_float && !result.is_float) {
    result.floats.assign(result.integers.begin(), result.integers.end());
    result.integers.clear();
  } else if (!to_float && result.is_float) {
    for (const float value : result.floats) {
      const bool fits = std::abs(value) < 9e18f;
      result.integers.push_back(fits ? static_cast<int64_t>(value) : 0);
    }
    result.floats.clear();
  }
  for (int64_t& value : result.integers) {
    if (to == Tensor::BOOL) value = value != 0;
  }
  result.is_float = to_float;
  return result;
}

template <typename T>
std::vector<T> Picked(const std::vector<T>& values, const std::vector<int64_t>& indices,
                      int64_t outer, int64_t axis, int64_t inner) {
  std::vector<T> result;
  if (values.empty()) return result;
  for (int64_t i = 0; i < outer; ++i) {
    for (const int64_t index : indices) {
      const auto begin = values.begin() + (i * axis + index) * inner;
      result.insert(result.end(), begin, begin + inner);
    }
  }
  return result;
}

// Takes `indices` of an axis, which are checked.
absl::StatusOr<OnnxConstant> Pick(const OnnxConstant& x, int64_t axis,
                                  const std::vector<int64_t>& indices, OnnxBudget* budget) {
  OnnxConstant result;
  result.shape = x.shape;
  result.shape[axis] = static_cast<int64_t>(indices.size());
  result.is_float = x.is_float;
  result.is_uniform = x.is_uniform;
  if (x.is_uniform) {
    result.floats = x.floats;
    result.integers = x.integers;
    return result;
  }
  CAIRN_RETURN_IF_ERROR(budget->Spend(CountOf(result.shape)));
  const int64_t outer = CountOf(Shape(x.shape.begin(), x.shape.begin() + axis));
  const int64_t inner = CountOf(Shape(x.shape.begin() + axis + 1, x.shape.end()));
  result.floats = Picked(x.floats, indices, outer, x.shape[axis], inner);
  result.integers = Picked(x.integers, indices, outer, x.shape[axis], inner);
  return result;
}

absl::StatusOr<OnnxConstant> Gather(const OnnxNode& node, const Inputs& inputs,
                                    OnnxBudget* budget) {
  const OnnxConstant& x = *inputs[0];
  const int64_t axis = AxisOf(node.Int("axis", 0), x.shape.size());
  if (inputs[1] == nullptr || axis < 0 || inputs[1]->is_float || inputs[1]->is_uniform) {
    return Error("has a wrong axis or no indices");
  }
  std::vector<int64_t> indices = inputs[1]->integers;
  for (int64_t& index : indices) {
    if (index < 0) index += x.shape[axis];
    if (index < 0 || index >= x.shape[axis]) return Error("has an index outside of its axis");
  }
  CAIRN_ASSIGN_OR_RETURN(OnnxConstant result, Pick(x, axis, indices, budget));
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), inputs[1]->shape.begin(), inputs[1]->shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  result.shape = shape;
  return result;
}

// Starts, ends, axes and steps are inputs 1 to 4 or, before operator set 10, attributes.
absl::StatusOr<OnnxConstant> Slice(const OnnxNode& node, const Inputs& inputs, OnnxBudget* budget) {
  std::vector<int64_t> numbers[4];
  const char* const names[] = {"starts", "ends", "axes", "steps"};
  for (size_t i = 0; i < 4; ++i) {
    if (const auto given = node.Ints(names[i])) numbers[i] = *given;
    if (inputs.size() > i + 1 && inputs[i + 1] != nullptr) numbers[i] = inputs[i + 1]->integers;
  }
  OnnxConstant x = *inputs[0];
  for (size_t i = 0; i < numbers[0].size(); ++i) {
    if (numbers[2].size() <= i) numbers[2].push_back(static_cast<int64_t>(i));
    const int64_t axis = AxisOf(numbers[2][i], x.shape.size());
    const int64_t step = i < numbers[3].size() ? numbers[3][i] : 1;
    if (axis < 0 || i >= numbers[1].size() || step == 0) return Error("has wrong bounds");
    const int64_t size = x.shape[axis];
    if (x.is_uniform && size == kOnnxBatch) return Error("takes a part of the batch");
    const auto bound = [size](int64_t at, int64_t low, int64_t high) {
      if (at < 0) at = at < -size ? -1 : at + size;
      return std::clamp(at, low, high);
    };
    const int64_t begin =
        step > 0 ? bound(numbers[0][i], 0, size) : bound(numbers[0][i], -1, size - 1);
    const int64_t end =
        step > 0 ? bound(numbers[1][i], 0, size) : bound(numbers[1][i], -1, size - 1);
    std::vector<int64_t> indices;
    CAIRN_RETURN_IF_ERROR(budget->Spend(size));
    for (int64_t at = begin; step > 0 ? at < end : at > end;) {
      indices.push_back(at);
      if (__builtin_add_overflow(at, step, &at)) break;
    }
    CAIRN_ASSIGN_OR_RETURN(x, Pick(x, axis, indices, budget));
  }
  return x;
}

absl::StatusOr<OnnxConstant> Concat(const OnnxNode& node, const Inputs& inputs,
                                    OnnxBudget* budget) {
  OnnxConstant result;
  result.is_float = inputs[0]->is_float;
  result.shape = inputs[0]->shape;
  const int64_t axis = AxisOf(node.Int("axis", 0), result.shape.size());
  if (axis < 0) return Error("has a wrong axis");
  const int64_t outer = CountOf(Shape(result.shape.begin(), result.shape.begin() + axis));
  if (outer < 1) return Error("has empty inputs");
  result.shape[axis] = 0;
  for (const OnnxConstant* part : inputs) {
    if (part == nullptr || part->is_uniform || part->is_float != result.is_float ||
        part->shape.size() != result.shape.size()) {
      return Error("has inputs of different kinds");
    }
    Shape others = part->shape;
    others[axis] = result.shape[axis];
    if (others != result.shape) return Error("has inputs of different shapes");
    result.shape[axis] += part->shape[axis];
  }
  CAIRN_RETURN_IF_ERROR(budget->Spend(CountOf(result.shape)));
  for (int64_t i = 0; i < outer; ++i) {
    for (const OnnxConstant* part : inputs) {
      const int64_t length = static_cast<int64_t>(part->size()) / outer;
      const auto append = [&](const auto& from, auto* to) {
        if (!from.empty()) {
          to->insert(to->end(), from.begin() + i * length, from.begin() + (i + 1) * length);
        }
      };
      append(part->floats, &result.floats);
      append(part->integers, &result.integers);
    }
  }
  return result;
}

absl::StatusOr<OnnxConstant> ConstantOfShape(const OnnxNode& node, const Inputs& inputs,
                                             OnnxBudget* budget) {
  OnnxConstant result;
  result.floats = {0};
  if (const Tensor* value = node.Tensor("value")) {
    CAIRN_ASSIGN_OR_RETURN(result, ReadOnnxTensor(*value, budget));
  }
  if (result.size() != 1 || inputs[0]->is_float || inputs[0]->is_uniform) {
    return Error("needs one value and a shape");
  }
  result.name.clear();
  result.shape = inputs[0]->integers;
  for (const int64_t size : result.shape) {
    if (size < 0) return Error("has a negative size");
  }
  result.is_uniform = true;
  // Sizes are computed with: such tensors are small, and have all of their elements.
  const int64_t count = CountOf(result.shape);
  constexpr int64_t kSmall = 64;
  if (count >= 0 && count <= kSmall) {
    if (result.is_float) result.floats.assign(count, result.floats[0]);
    if (!result.is_float) result.integers.assign(count, result.integers[0]);
    result.is_uniform = false;
  }
  return result;
}

// The shape that two tensors are broadcast to; nullopt if they do not fit.
std::optional<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    shape[shape.size() - 1 - i] = left == 1 ? right : left;
  }
  return shape;
}

// For each element of `shape`: the index of the element of `x` that stands there.
std::vector<int64_t> BroadcastIndices(const OnnxConstant& x, const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < x.shape.size() && !x.is_uniform; ++i) {
    const int64_t size = x.shape[x.shape.size() - 1 - i];
    strides[shape.size() - 1 - i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  const int64_t count = CountOf(shape);
  std::vector<int64_t> indices;
  indices.reserve(count);
  Shape index(shape.size(), 0);
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    indices.push_back(at);
    for (size_t axis = shape.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < shape[axis]) break;
      at -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return indices;
}

absl::StatusOr<OnnxConstant> Expand(const OnnxConstant& x, const Shape& to, OnnxBudget* budget) {
  const auto shape = BroadcastShape(x.shape, to);
  if (!shape.has_value()) return Error("has shapes that do not fit");
  OnnxConstant result = x;
  result.name.clear();
  result.shape = *shape;
  const bool has_batch = std::count(shape->begin(), shape->end(), kOnnxBatch) > 0;
  if (x.is_uniform || (has_batch && x.size() == 1)) {
    result.is_uniform = true;
    return result;
  }
  CAIRN_RETURN_IF_ERROR(budget->Spend(CountOf(*shape)));
  result.floats.clear();
  result.integers.clear();
  for (const int64_t i : BroadcastIndices(x, *shape)) {
    if (x.is_float) result.floats.push_back(x.floats[i]);
    if (!x.is_float) result.integers.push_back(x.integers[i]);
  }
  return result;
}

// nullopt: the result is no number.
std::optional<int64_t> Compute(const std::string& op, int64_t a, int64_t b) {
  int64_t result = 0;
  if (op == "Add" && !__builtin_add_overflow(a, b, &result)) return result;
  if (op == "Sub" && !__builtin_sub_overflow(a, b, &result)) return result;
  if (op == "Mul" && !__builtin_mul_overflow(a, b, &result)) return result;
  if (op == "Div" && b != 0 && !(b == -1 && a < -kTensorElementsMax)) return a / b;
  if (op == "Equal") return a == b;
  return std::nullopt;
}

float Compute(const std::string& op, float a, float b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  return a / b;
}

absl::StatusOr<OnnxConstant> Arithmetic(const OnnxNode& node, const Inputs& inputs,
                                        OnnxBudget* budget) {
  if (inputs[1] == nullptr || inputs[0]->is_float != inputs[1]->is_float) {
    return Error("has inputs of different types");
  }
  if (inputs[0]->is_float && node.op() == "Equal") return Error("compares numbers");
  const auto shape = BroadcastShape(inputs[0]->shape, inputs[1]->shape);
  if (!shape.has_value()) return Error("has shapes that do not fit");
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant a, Expand(*inputs[0], *shape, budget));
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant b, Expand(*inputs[1], *shape, budget));
  if (a.is_uniform != b.is_uniform) return Error("has inputs of different kinds");
  OnnxConstant result;
  result.shape = *shape;
  result.is_float = a.is_float;
  result.is_uniform = a.is_uniform;
  for (size_t i = 0; i < a.floats.size(); ++i) {
    result.floats.push_back(Compute(node.op(), a.floats[i], b.floats[i]));
  }
  for (size_t i = 0; i < a.integers.size(); ++i) {
    const auto value = Compute(node.op(), a.integers[i], b.integers[i]);
    if (!value.has_value()) return Error("has a result that is no number");
    result.integers.push_back(*value);
  }
  return result;
}

absl::StatusOr<OnnxConstant> Where(const Inputs& inputs, OnnxBudget* budget) {
  if (inputs.size() != 3 || inputs[1] == nullptr || inputs[2] == nullptr) {
    return Error("needs 3 inputs");
  }
  for (const OnnxConstant* input : inputs) {
    if (input->is_float || input->is_uniform) return Error("has inputs other than sizes");
  }
  auto shape = BroadcastShape(inputs[0]->shape, inputs[1]->shape);
  if (shape.has_value()) shape = BroadcastShape(*shape, inputs[2]->shape);
  if (!shape.has_value()) return Error("has shapes that do not fit");
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant condition, Expand(*inputs[0], *shape, budget));
  CAIRN_ASSIGN_OR_RETURN(OnnxConstant result, Expand(*inputs[1], *shape, budget));
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant other, Expand(*inputs[2], *shape, budget));
  for (size_t i = 0; i < result.integers.size(); ++i) {
    if (condition.integers[i] == 0) result.integers[i] = other.integers[i];
  }
  return result;
}

absl::StatusOr<OnnxConstant> Transpose(const OnnxNode& node, const Inputs& inputs,
                                       OnnxBudget* budget) {
  const size_t rank = inputs[0]->shape.size();
  std::vector<int> order;
  for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int>(rank - 1 - i));
  if (const auto given = node.Ints("perm")) {
    order.clear();
    for (const int64_t axis : *given) order.push_back(static_cast<int>(AxisOf(axis, rank)));
  }
  return TransposedConstant(*inputs[0], order, budget);
}

absl::StatusOr<OnnxConstant> Fold(const OnnxNode& node, const Inputs& inputs, OnnxBudget* budget) {
  const std::string& op = node.op();
  if (inputs.empty() || inputs[0] == nullptr) return Error("has no input");
  CAIRN_RETURN_IF_ERROR(budget->Spend(static_cast<int64_t>(inputs[0]->size())));
  if (op == "Identity" || op == "Dropout") return *inputs[0];
  if (op == "Unsqueeze") return Unsqueeze(node, inputs);
  if (op == "Squeeze") return Squeeze(node, inputs);
  if (op == "Cast") return Cast(node, inputs);
  if (op == "Slice") return Slice(node, inputs, budget);
  if (op == "Concat") return Concat(node, inputs, budget);
  if (op == "ConstantOfShape") return ConstantOfShape(node, inputs, budget);
  if (op == "Transpose") return Transpose(node, inputs, budget);
  if (op == "Where") return Where(inputs, budget);
  if (inputs.size() < 2 || inputs[1] == nullptr) return Error("needs 2 inputs");
  if (op == "Reshape") return Reshape(node, inputs);
  if (op == "Gather") return Gather(node, inputs, budget);
  if (op == "Expand") return Expand(*inputs[0], inputs[1]->integers, budget);
  return Arithmetic(node, inputs, budget);
}

}  // namespace

absl::Status OnnxBudget::Spend(int64_t elements) {
  if (elements >= 0 && elements <= left_) {
    left_ -= elements;
    return absl::OkStatus();
  }
  left_ = 0;
  return absl::InvalidArgumentError(
      "the file's constants are combined into far more numbers than it has");
}

bool OnnxConstant::is_zero() const {
  return std::all_of(floats.begin(), floats.end(), [](float value) { return value == 0; }) &&
         std::all_of(integers.begin(), integers.end(), [](int64_t value) { return value == 0; });
}

absl::StatusOr<OnnxConstant> ReadOnnxTensor(const Tensor& tensor, OnnxBudget* budget) {
  OnnxConstant constant;
  constant.name = tensor.name();
  constant.shape.assign(tensor.dims().begin(), tensor.dims().end());
  if (tensor.data_location() != Tensor::DEFAULT || tensor.external_data_size() > 0) {
    return Error(absl::StrCat(
        "tensor '", tensor.name(),
        "' is in another file (external data), which is not read; write all in one file: in Python "
        "onnx.save(onnx.load(\"model.onnx\"), \"one_file.onnx\"), or "
        "torch.onnx.export(..., external_data=False)"));
  }
  CAIRN_RETURN_IF_ERROR(ReadElements(tensor, &constant));
  CAIRN_RETURN_IF_ERROR(budget->Spend(static_cast<int64_t>(constant.size())));
  if (CountOf(constant.shape) == static_cast<int64_t>(constant.size())) return constant;
  return Error(absl::StrCat("tensor '", tensor.name(), "' has ", constant.size(),
                            " elements, which do not fill its shape ", ShapeText(constant.shape)));
}

absl::StatusOr<OnnxConstant> TransposedConstant(const OnnxConstant& x,
                                                const std::vector<int>& order, OnnxBudget* budget) {
  const size_t rank = x.shape.size();
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < std::max(rank, sorted.size()); ++i) {
    if (sorted.size() != rank || sorted[i] != static_cast<int>(i)) {
      return Error("has an order that is none of its axes");
    }
  }
  OnnxConstant result = x;
  for (size_t i = 0; i < rank; ++i) result.shape[i] = x.shape[order[i]];
  if (x.is_uniform || std::is_sorted(order.begin(), order.end())) return result;
  CAIRN_RETURN_IF_ERROR(budget->Spend(static_cast<int64_t>(x.size())));
  Shape strides(rank, 1);
  for (size_t i = rank - 1; i > 0; --i) strides[i - 1] = strides[i] * x.shape[i];
  Shape index(rank, 0);
  for (size_t count = 0; count < x.size(); ++count) {
    int64_t from = 0;
    for (size_t i = 0; i < rank; ++i) from += index[i] * strides[order[i]];
    if (x.is_float) result.floats[count] = x.floats[from];
    if (!x.is_float) result.integers[count] = x.integers[from];
    for (size_t i = rank; i-- > 0;) {
      if (++index[i] < result.shape[i]) break;
      index[i] = 0;
    }
  }
  return result;
}

bool FoldsOnnx(std::string_view op) {
  static constexpr std::string_view kOperators[] = {
      "Add",   "Cast",    "Concat", "ConstantOfShape", "Div",       "Dropout",
      "Equal", "Expand",  "Gather", "Identity",        "Mul",       "Reshape",
      "Slice", "Squeeze", "Sub",    "Transpose",       "Unsqueeze", "Where"};
  return std::find(std::begin(kOperators), std::end(kOperators), op) != std::end(kOperators);
}

absl::StatusOr<OnnxConstant> FoldOnnx(const OnnxNode& node, const Inputs& inputs,
                                      OnnxBudget* budget) {
  auto result = Fold(node, inputs, budget);
  if (!result.ok()) return node.Error(std::string(result.status().message()));
  constexpr size_t kRankMax = 16;
  if (result->shape.size() > kRankMax) return node.Error("has more than 16 axes");
  return result;
}

}  // namespace cairn::nn
