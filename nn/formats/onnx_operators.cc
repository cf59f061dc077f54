#include "nn/formats/onnx_operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/onnx_recurrent.h"
#include "nn/formats/onnx_shapes.h"

namespace cairn::nn {
namespace {

absl::Status Error(const std::string& reason) { return absl::InvalidArgumentError(reason); }

OnnxOutputs One(OnnxValue value) { return std::vector<OnnxValue>{std::move(value)}; }

bool IsNear(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b)); }

bool HasArgument(const OnnxLayers::Entry& entry, const char* name) {
  return entry.spec.config().fields().count(name) > 0;
}

// Whether the layer has kernels, so that it may have a bias and an activation.
bool HasKernel(const OnnxLayers::Entry& entry) {
  static const auto* const kClasses =
      new std::set<std::string>{"Conv1D", "Conv1DTranspose", "Conv2D",          "Conv2DTranspose",
                                "Conv3D", "Dense",           "DepthwiseConv1D", "DepthwiseConv2D"};
  return kClasses->count(entry.spec.class_name()) > 0;
}

// Adds a layer of one input and the same shape. It works on each element, or on rows of the last
// axis.
OnnxOutputs Elementwise(const OnnxCall& call, OnnxValue value, const std::string& class_name,
                        const OnnxArguments& arguments, const std::string& name = "") {
  if (value.reversed >= 0) return Error("takes a sequence in the opposite order");
  CAIRN_ASSIGN_OR_RETURN(value.layer, call.layers->Add(name, class_name, arguments, {value.layer}));
  value.is_exclusive = true;
  return One(std::move(value));
}

// An activation by its name: that of the layer before, if it has none, or a layer.
OnnxOutputs Activate(const OnnxCall& call, OnnxValue value, const std::string& name) {
  const OnnxLayers::Entry& entry = call.layers->entry(value.layer);
  if (value.is_exclusive && value.reversed < 0 && HasKernel(entry) &&
      !HasArgument(entry, "activation")) {
    CAIRN_RETURN_IF_ERROR(
        call.layers->Change(value.layer, OnnxArguments().Text("activation", name), {}));
    return One(std::move(value));
  }
  const std::string place = call.LayerName(0);
  if (name == "relu") return Elementwise(call, value, "ReLU", OnnxArguments(), place);
  return Elementwise(call, value, "Activation", OnnxArguments().Text("activation", name), place);
}

// Numbers of a Rescaling, one or one for each channel.
struct Affine {
  std::vector<double> scales = {1};
  std::vector<double> offsets = {0};
};

std::vector<double> NumbersOf(const OnnxLayers::Entry& entry, const char* name, double otherwise) {
  const auto found = entry.spec.config().fields().find(name);
  if (found == entry.spec.config().fields().end()) return {otherwise};
  if (found->second.kind_case() == google::protobuf::Value::kNumberValue) {
    return {found->second.number_value()};
  }
  std::vector<double> numbers;
  for (const auto& value : found->second.list_value().values()) {
    numbers.push_back(value.number_value());
  }
  return numbers;
}

double At(const std::vector<double>& numbers, size_t i) {
  return numbers[numbers.size() == 1 ? 0 : i];
}

OnnxArguments ArgumentsOf(const Affine& affine) {
  OnnxArguments arguments;
  if (affine.scales.size() == 1) arguments.Number("scale", affine.scales[0]);
  if (affine.scales.size() > 1) arguments.Numbers("scale", affine.scales);
  if (affine.offsets.size() == 1) arguments.Number("offset", affine.offsets[0]);
  if (affine.offsets.size() > 1) arguments.Numbers("offset", affine.offsets);
  return arguments;
}

// Scales and shifts the last axis of the layer. A Rescaling before it is changed.
OnnxOutputs Rescale(const OnnxCall& call, OnnxValue value, const Affine& affine) {
  for (const auto* numbers : {&affine.scales, &affine.offsets}) {
    for (const double number : *numbers) {
      if (!std::isfinite(number)) return Error("computes with a constant that is not finite");
    }
  }
  const OnnxLayers::Entry& entry = call.layers->entry(value.layer);
  const size_t width = std::max(affine.scales.size(), affine.offsets.size());
  if (!value.is_exclusive || entry.spec.class_name() != "Rescaling" || value.reversed >= 0) {
    return Elementwise(call, std::move(value), "Rescaling", ArgumentsOf(affine));
  }
  const std::vector<double> scales = NumbersOf(entry, "scale", 1);
  const std::vector<double> offsets = NumbersOf(entry, "offset", 0);
  const size_t count = std::max({width, scales.size(), offsets.size()});
  CAIRN_RETURN_IF_ERROR(call.budget->Spend(static_cast<int64_t>(count)));
  Affine both{.scales = {}, .offsets = {}};
  for (size_t i = 0; i < count; ++i) {
    both.scales.push_back(At(scales, i) * At(affine.scales, i));
    both.offsets.push_back(At(offsets, i) * At(affine.scales, i) + At(affine.offsets, i));
  }
  CAIRN_RETURN_IF_ERROR(call.layers->Change(value.layer, ArgumentsOf(both), {}));
  return One(std::move(value));
}

OnnxOutputs Rescale(const OnnxCall& call, OnnxValue value, double scale, double offset) {
  return Rescale(call, std::move(value), Affine{.scales = {scale}, .offsets = {offset}});
}

// A constant that is broadcast to a value: its elements along some neighboring axes of the value;
// one element and no axes if it is the same everywhere.
struct AlongAxes {
  int first = 0;
  int last = -1;
  std::vector<float> elements;
};

absl::StatusOr<AlongAxes> AlignConstant(const OnnxCall& call, const OnnxValue& value,
                                        const OnnxConstant& constant) {
  AlongAxes result;
  if (!constant.is_float || constant.size() == 0) return Error("computes with no float numbers");
  if (constant.size() == 1) {
    result.elements = constant.floats;
    return result;
  }
  const int offset = value.rank() - static_cast<int>(constant.shape.size());
  Shape expanded;  // Of the elements from axis `first` to `last`.
  result.first = -1;
  for (int axis = 0; axis < static_cast<int>(constant.shape.size()); ++axis) {
    if (constant.shape[axis] == 1) continue;
    if (offset + axis < 0 || constant.shape[axis] != value.AxisSize(offset + axis)) {
      return Error(absl::StrCat("computes with a constant of the shape ", ShapeText(constant.shape),
                                ", which is not part of its other input"));
    }
    if (result.first < 0) result.first = offset + axis;
    result.last = offset + axis;
  }
  for (int axis = result.first; axis <= result.last; ++axis) {
    if (value.IsBatch(axis)) return Error("computes with a constant for each example");
    expanded.push_back(value.AxisSize(axis));
  }
  // Repeats the constant along the axes between, which have the size 1.
  int64_t count = 1;
  for (const int64_t size : expanded) count *= size;
  CAIRN_RETURN_IF_ERROR(call.budget->Spend(count));
  std::vector<int64_t> strides;
  int64_t stride = 1;
  for (size_t i = expanded.size(); i-- > 0;) {
    const bool varies = constant.shape[result.first - offset + static_cast<int>(i)] != 1;
    strides.insert(strides.begin(), varies ? stride : 0);
    if (varies) stride *= expanded[i];
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    int64_t rest = i;
    for (size_t axis = expanded.size(); axis-- > 0; rest /= expanded[axis]) {
      at += rest % expanded[axis] * strides[axis];
    }
    result.elements.push_back(constant.floats[at]);
  }
  return result;
}

std::vector<int> FactorsOf(const OnnxValue& value, int first, int last) {
  std::vector<int> factors;
  for (int axis = first; axis <= last; ++axis) {
    factors.insert(factors.end(), value.axes[axis].begin(), value.axes[axis].end());
  }
  return factors;
}

// Adds `sign` * value and a constant: the bias of the layer before, or a Rescaling.
OnnxOutputs Shift(const OnnxCall& call, const OnnxValue& value, const OnnxConstant& constant,
                  double sign, double sign_of_constant) {
  CAIRN_ASSIGN_OR_RETURN(const AlongAxes along, AlignConstant(call, value, constant));
  const bool is_scalar = along.last < along.first;
  OnnxLayers::Rows rows{.value = value};
  if (!is_scalar) {
    CAIRN_ASSIGN_OR_RETURN(
        rows, call.layers->WithLastAxis(value, FactorsOf(value, along.first, along.last)));
  }
  std::vector<float> elements = InOrder(along.elements, rows.order);
  const OnnxLayers::Entry& entry = call.layers->entry(rows.value.layer);
  const bool is_bias = sign == 1 && sign_of_constant == 1 && value.is_exclusive &&
                       rows.value.layer == value.layer && HasKernel(entry) &&
                       !HasArgument(entry, "activation") && entry.weights.size() == 1 &&
                       call.layers->shape(value.layer).back() == rows.width;
  if (is_bias) {
    std::vector<OnnxWeight> bias(1);
    bias[0] = {constant.name, std::move(elements)};
    CAIRN_RETURN_IF_ERROR(
        call.layers->Change(value.layer, OnnxArguments().Flag("use_bias", true), std::move(bias)));
    return One(rows.value);
  }
  Affine affine{.scales = {sign}, .offsets = {}};
  for (const float element : elements) affine.offsets.push_back(sign_of_constant * element);
  return Rescale(call, rows.value, affine);
}

// Multiplies with a constant, or with its inverse.
OnnxOutputs Scale(const OnnxCall& call, const OnnxValue& value, const OnnxConstant& constant,
                  bool divides) {
  CAIRN_ASSIGN_OR_RETURN(const AlongAxes along, AlignConstant(call, value, constant));
  Affine affine;
  OnnxValue result = value;
  std::vector<float> elements = along.elements;
  if (along.last >= along.first) {
    CAIRN_ASSIGN_OR_RETURN(const auto rows, call.layers->WithLastAxis(
                                                value, FactorsOf(value, along.first, along.last)));
    elements = InOrder(elements, rows.order);
    result = rows.value;
  }
  affine.scales.clear();
  for (const float element : elements) {
    affine.scales.push_back(divides ? 1 / static_cast<double>(element) : element);
  }
  return Rescale(call, std::move(result), affine);
}

// A merging layer of computed values.
OnnxOutputs Merge(const OnnxCall& call, const char* class_name, const char* mode = "") {
  if (*mode != '\0') {
    CAIRN_ASSIGN_OR_RETURN(auto directions, MergeOnnxDirections(call, mode));
    if (directions.has_value()) return One(*std::move(directions));
  }
  if (call.values.size() == 1) return ReadOnnxIdentity(call);
  CAIRN_ASSIGN_OR_RETURN(OnnxAligned aligned, AlignOnnxValues(call, /*needs_places=*/false));
  OnnxValue& value = aligned.value;
  CAIRN_ASSIGN_OR_RETURN(value.layer, call.layers->Add(call.LayerName(0), class_name,
                                                       OnnxArguments(), aligned.layers));
  // Broadcasting may have made it larger.
  int64_t elements = 1;
  for (const int64_t size : value.sizes) elements *= size;
  const Shape& shape = call.layers->shape(value.layer);
  if (ElementCount(shape) != elements) value.sizes = shape;
  return One(std::move(value));
}

// Which input of two is constant, or -1.
int ConstantOfTwo(const OnnxCall& call) {
  if (call.values.size() != 2) return -1;
  return call.ConstantOrNull(0) != nullptr ? 0 : call.ConstantOrNull(1) != nullptr ? 1 : -1;
}

// Limits the elements to [low, high]. An infinite bound does not limit.
OnnxOutputs Clip(const OnnxCall& call, OnnxValue value, double low, double high) {
  constexpr double kUnbounded = std::numeric_limits<float>::max();
  const bool has_low = low > -kUnbounded;
  const bool has_high = high < kUnbounded;
  if (std::isnan(low) || std::isnan(high) || (has_low && has_high && low >= high)) {
    return Error(absl::StrCat("limits its input to ", low, " to ", high));
  }
  if (!has_low && !has_high) return One(std::move(value));
  if (low == 0 && !has_high) return Activate(call, std::move(value), "relu");
  if (low == 0 && high == 6) return Activate(call, std::move(value), "relu6");
  if (low == -1 && high == 1) return Activate(call, std::move(value), "hard_tanh");
  // high - relu(high - x), or low + relu(x - low), which may have a largest value.
  const double sign = has_low ? 1 : -1;
  const double bound = has_low ? low : high;
  OnnxArguments arguments;
  if (has_low && has_high) arguments.Number("max_value", high - low);
  if (bound != 0 || sign != 1) {
    CAIRN_ASSIGN_OR_RETURN(const auto moved, Rescale(call, std::move(value), sign, -sign * bound));
    value = moved[0];
  }
  CAIRN_ASSIGN_OR_RETURN(const auto limited, Elementwise(call, value, "ReLU", arguments));
  if (bound == 0 && sign == 1) return limited;
  return Rescale(call, limited[0], sign, bound);
}

// The one number of a constant.
absl::StatusOr<double> NumberOf(const OnnxConstant& constant) {
  if (constant.size() == 1 && constant.is_float) return constant.number();
  return Error("takes a list of numbers; one number is supported");
}

// The factors of an axis and of all after it.
std::vector<int> FactorsFrom(const OnnxValue& value, int axis) {
  return FactorsOf(value, axis, value.rank() - 1);
}

// A Dense on the factors of the last axis: `kernel` has a row for each of its elements in ONNX's
// order.
absl::StatusOr<OnnxValue> Dense(const OnnxCall& call, const OnnxValue& value, OnnxWeight kernel,
                                int64_t units, const OnnxWeight* bias) {
  CAIRN_ASSIGN_OR_RETURN(auto rows, call.layers->WithLastAxis(value, value.axes.back()));
  // A row for each example is a vector, also after a global pooling that keeps its axes.
  if (value.rank() == 2 && value.IsBatch(0)) {
    CAIRN_ASSIGN_OR_RETURN(rows.value.layer, call.layers->Arranged(rows.value, {rows.factors}));
  }
  if (units < 1 || rows.width * units != static_cast<int64_t>(kernel.values.size())) {
    return Error(absl::StrCat("has a kernel of ", kernel.values.size(), " elements for ",
                              rows.width, " inputs and ", units, " outputs"));
  }
  if (!rows.order.empty()) {
    std::vector<float> moved;
    moved.reserve(kernel.values.size());
    for (const int64_t row : rows.order) {
      const auto begin = kernel.values.begin() + row * units;
      moved.insert(moved.end(), begin, begin + units);
    }
    kernel.values = std::move(moved);
  }
  OnnxArguments arguments;
  arguments.Number("units", static_cast<double>(units)).Flag("use_bias", bias != nullptr);
  std::vector<OnnxWeight> weights;
  weights.push_back(std::move(kernel));
  if (bias != nullptr) weights.push_back(*bias);
  OnnxValue result;
  CAIRN_ASSIGN_OR_RETURN(result.layer, call.layers->Add(call.LayerName(), "Dense", arguments,
                                                        {rows.value.layer}, std::move(weights)));
  // The factors of the last axis become one.
  std::vector<int> place(rows.value.sizes.size() + 1, 0);
  for (int factor = 1; factor < static_cast<int>(place.size()); ++factor) {
    if (std::count(rows.factors.begin(), rows.factors.end(), factor) > 0) continue;
    result.sizes.push_back(rows.value.FactorSize(factor));
    place[factor] = static_cast<int>(result.sizes.size());
  }
  result.sizes.push_back(units);
  for (int axis = 0; axis + 1 < value.rank(); ++axis) {
    result.axes.emplace_back();
    for (const int factor : rows.value.axes[axis]) result.axes.back().push_back(place[factor]);
  }
  result.axes.push_back({static_cast<int>(result.sizes.size())});
  return result;
}

// The product of two computed matrices for each example: Keras's Dot.
OnnxOutputs Dot(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue a, call.Value(0));
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue b, call.Value(1));
  if (a.rank() != 3 || b.rank() != 3 || !a.IsBatch(0) || !b.IsBatch(0)) {
    return Error(
        "multiplies two computed values that are not one matrix for each example (as attention "
        "with heads does), which no layer does; build the attention in Keras "
        "(MultiHeadAttention) and save it as .keras");
  }
  CAIRN_ASSIGN_OR_RETURN(const int left, call.layers->Arranged(a, {a.axes[1], a.axes[2]}));
  CAIRN_ASSIGN_OR_RETURN(const int right, call.layers->Arranged(b, {b.axes[1], b.axes[2]}));
  CAIRN_ASSIGN_OR_RETURN(
      const int layer,
      call.layers->Add("", "Dot", OnnxArguments().Numbers("axes", std::vector<int64_t>{2, 1}),
                       {left, right}));
  return One(WholeValue(layer, call.layers->shape(layer)));
}

}  // namespace

OnnxOutputs ApplyOnnxActivation(const OnnxCall& call, const OnnxActivation& activation) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  if (activation.class_name == "Activation") {
    return Activate(call, std::move(value), activation.activation);
  }
  OnnxArguments arguments;
  arguments.Number("threshold", activation.threshold).Number("negative_slope", activation.slope);
  return Elementwise(call, std::move(value), "ReLU", arguments);
}

OnnxOutputs ReadOnnxActivation(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  const OnnxNode& node = call.node;
  const std::string& op = node.op();
  static constexpr std::pair<const char*, const char*> kPlain[] = {
      {"Relu", "relu"},           {"Sigmoid", "sigmoid"},   {"Tanh", "tanh"},
      {"Softplus", "softplus"},   {"Softsign", "softsign"}, {"Exp", "exponential"},
      {"HardSwish", "hard_silu"}, {"Mish", "mish"}};
  for (const auto& [name, keras] : kPlain) {
    if (op == name) return Activate(call, std::move(value), keras);
  }
  const std::string place = call.LayerName(0);
  static const auto* const kLayers =
      new std::set<std::string>{"Cos", "Erf", "Floor", "Log", "Reciprocal", "Sign", "Sin", "Sqrt"};
  if (kLayers->count(op) > 0) return Elementwise(call, value, op, OnnxArguments(), place);
  if (op == "Ceil") {  // -floor(-x)
    CAIRN_ASSIGN_OR_RETURN(const auto negative, Rescale(call, std::move(value), -1, 0));
    CAIRN_ASSIGN_OR_RETURN(const auto floor,
                           Elementwise(call, negative[0], "Floor", OnnxArguments(), place));
    return Rescale(call, floor[0], -1, 0);
  }
  if (op == "LeakyRelu") {
    const float slope = node.Float("alpha", 0.01f);
    return Elementwise(call, value, "LeakyReLU", OnnxArguments().Number("negative_slope", slope),
                       place);
  }
  if (op == "ThresholdedRelu") {
    const float threshold = node.Float("alpha", 1);
    return Elementwise(call, value, "ReLU", OnnxArguments().Number("threshold", threshold), place);
  }
  if (op == "Elu" || op == "Celu") {
    const float alpha = node.Float("alpha", 1);
    if (alpha == 1) return Activate(call, std::move(value), "elu");
    if (op == "Celu") return Error("has an alpha other than 1, which Keras's celu does not have");
    return Elementwise(call, value, "ELU", OnnxArguments().Number("alpha", alpha), place);
  }
  if (op == "Selu") {
    if (std::abs(node.Float("alpha", 1.67326f) - 1.67326) < 1e-4 &&
        std::abs(node.Float("gamma", 1.0507f) - 1.0507) < 1e-4) {
      return Activate(call, std::move(value), "selu");
    }
    return Error("has an alpha or gamma other than those of SELU");
  }
  if (op == "Gelu") {
    if (node.Text("approximate", "none") == "none") {
      return Activate(call, std::move(value), "gelu");
    }
    return Error("approximates GELU with tanh; export it exactly (approximate='none')");
  }
  if (op == "Swish") {
    if (node.Float("alpha", 1) == 1) return Activate(call, std::move(value), "swish");
    return Error("has an alpha other than 1");
  }
  if (op == "Shrink") {
    const float bias = node.Float("bias", 0);
    if (node.Float("lambd", 0.5f) == 0.5f && (bias == 0 || bias == 0.5f)) {
      return Activate(call, std::move(value), bias == 0 ? "hard_shrink" : "soft_shrink");
    }
    return Error("has a lambd other than 0.5, or a bias other than 0 and 0.5");
  }
  // HardSigmoid: alpha * x + beta, clipped to [0, 1].
  const float alpha = node.Float("alpha", 0.2f);
  const float beta = node.Float("beta", 0.5f);
  const std::pair<float, const char*> slopes[] = {
      {0.2f, "hard_sigmoid_keras2"}, {1.0f / 6, "hard_sigmoid"}, {0.5f, "sparse_sigmoid"}};
  for (const auto& [slope, keras] : slopes) {
    if (beta == 0.5f && IsNear(alpha, slope)) return Activate(call, std::move(value), keras);
  }
  CAIRN_ASSIGN_OR_RETURN(const auto moved, Rescale(call, std::move(value), alpha, beta));
  return Clip(call, moved[0], 0, 1);
}

OnnxOutputs ReadOnnxSoftmax(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  // Before operator set 13 it was over the given axis and all after it.
  const bool flattens = call.node.opset() < 13;
  CAIRN_ASSIGN_OR_RETURN(const int axis,
                         call.Axis(call.node.Int("axis", flattens ? 1 : -1), value.rank()));
  const std::vector<int> factors = flattens ? FactorsFrom(value, axis) : value.axes[axis];
  CAIRN_ASSIGN_OR_RETURN(const auto rows, call.layers->WithLastAxis(value, factors));
  return Activate(call, rows.value, call.node.op() == "Softmax" ? "softmax" : "log_softmax");
}

OnnxOutputs ReadOnnxClip(const OnnxCall& call) {
  double bounds[] = {call.node.Float("min", -std::numeric_limits<float>::infinity()),
                     call.node.Float("max", std::numeric_limits<float>::infinity())};
  for (size_t i = 0; i < 2; ++i) {
    if (call.HasValue(i + 1)) return Error("has a bound that is computed");
    const OnnxConstant* const given = call.ConstantOrNull(i + 1);
    if (given == nullptr) continue;
    CAIRN_ASSIGN_OR_RETURN(bounds[i], NumberOf(*given));
  }
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  return Clip(call, std::move(value), bounds[0], bounds[1]);
}

OnnxOutputs ReadOnnxPRelu(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const slope, call.Constant(1));
  CAIRN_ASSIGN_OR_RETURN(AlongAxes along, AlignConstant(call, value, *slope));
  OnnxLayers::Rows rows{.value = value};
  if (along.last >= along.first) {
    CAIRN_ASSIGN_OR_RETURN(
        rows, call.layers->WithLastAxis(value, FactorsOf(value, along.first, along.last)));
  }
  const auto rank = static_cast<int64_t>(call.layers->shape(rows.value.layer).size());
  std::vector<int64_t> shared(rank - (along.last >= along.first ? 1 : 0));
  std::iota(shared.begin(), shared.end(), 1);
  OnnxArguments arguments;
  if (!shared.empty()) arguments.Numbers("shared_axes", shared);
  std::vector<OnnxWeight> weights;
  weights.push_back({slope->name, InOrder(along.elements, rows.order)});
  CAIRN_ASSIGN_OR_RETURN(rows.value.layer,
                         call.layers->Add(call.LayerName(), "PReLU", arguments, {rows.value.layer},
                                          std::move(weights)));
  rows.value.is_exclusive = true;
  return One(std::move(rows.value));
}

OnnxOutputs ReadOnnxAdd(const OnnxCall& call) {
  const int constant = ConstantOfTwo(call);
  if (constant < 0) return Merge(call, "Add", "sum");
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value(1 - constant));
  return Shift(call, value, *call.ConstantOrNull(constant), 1, 1);
}

OnnxOutputs ReadOnnxSub(const OnnxCall& call) {
  const int constant = ConstantOfTwo(call);
  if (constant < 0) return Merge(call, "Subtract");
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value(1 - constant));
  const double sign = constant == 0 ? -1 : 1;
  return Shift(call, value, *call.ConstantOrNull(constant), sign, -sign);
}

OnnxOutputs ReadOnnxMul(const OnnxCall& call) {
  const int constant = ConstantOfTwo(call);
  if (constant < 0) return Merge(call, "Multiply", "mul");
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value(1 - constant));
  return Scale(call, value, *call.ConstantOrNull(constant), /*divides=*/false);
}

OnnxOutputs ReadOnnxDiv(const OnnxCall& call) {
  if (ConstantOfTwo(call) != 1) return Error("divides by a computed value, which no layer does");
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  return Scale(call, value, *call.ConstantOrNull(1), /*divides=*/true);
}

OnnxOutputs ReadOnnxNeg(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  return Rescale(call, std::move(value), -1, 0);
}

OnnxOutputs ReadOnnxPow(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const exponent, call.Constant(1));
  if (exponent->size() != 1 || (exponent->number() != 2 && exponent->number() != 3)) {
    return Error("has an exponent other than 2 and 3");
  }
  if (value.reversed >= 0) return Error("takes a sequence in the opposite order");
  const std::vector<int> factors(static_cast<size_t>(exponent->number()), value.layer);
  CAIRN_ASSIGN_OR_RETURN(value.layer, call.layers->Add("", "Multiply", OnnxArguments(), factors));
  value.is_exclusive = true;
  return One(std::move(value));
}

OnnxOutputs ReadOnnxMean(const OnnxCall& call) { return Merge(call, "Average", "ave"); }

OnnxOutputs ReadOnnxMax(const OnnxCall& call) {
  const int constant = ConstantOfTwo(call);
  if (constant < 0) return Merge(call, "Maximum");
  CAIRN_ASSIGN_OR_RETURN(const double bound, NumberOf(*call.ConstantOrNull(constant)));
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value(1 - constant));
  return Clip(call, std::move(value), bound, std::numeric_limits<double>::infinity());
}

OnnxOutputs ReadOnnxMin(const OnnxCall& call) {
  const int constant = ConstantOfTwo(call);
  if (constant < 0) return Merge(call, "Minimum");
  CAIRN_ASSIGN_OR_RETURN(const double bound, NumberOf(*call.ConstantOrNull(constant)));
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value(1 - constant));
  const OnnxLayers::Entry& entry = call.layers->entry(value.layer);
  if (value.is_exclusive && entry.spec.class_name() == "ReLU" && bound > 0 &&
      !HasArgument(entry, "max_value")) {
    CAIRN_RETURN_IF_ERROR(
        call.layers->Change(value.layer, OnnxArguments().Number("max_value", bound), {}));
    return One(std::move(value));
  }
  return Clip(call, std::move(value), -std::numeric_limits<double>::infinity(), bound);
}

OnnxOutputs ReadOnnxGemm(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const matrix, call.Constant(1));
  call.node.Ignore({"broadcast"});
  if (call.node.Int("transA", 0) != 0) return Error("transposes its first input");
  if (value.rank() != 2 || matrix->shape.size() != 2) return Error("takes inputs without 2 axes");
  OnnxConstant kernel = *matrix;
  if (call.node.Int("transB", 0) != 0) {
    CAIRN_ASSIGN_OR_RETURN(kernel, TransposedConstant(kernel, {1, 0}, call.budget));
  }
  if (!kernel.is_float || kernel.is_uniform) return Error("has no float kernel");
  CAIRN_RETURN_IF_ERROR(call.budget->Spend(static_cast<int64_t>(kernel.floats.size())));
  const float alpha = call.node.Float("alpha", 1);
  const float beta = call.node.Float("beta", 1);
  for (float& element : kernel.floats) element *= alpha;
  const int64_t units = kernel.shape[1];
  OnnxWeight bias;
  const bool has_bias = call.values.size() > 2 && (call.HasValue(2) || call.ConstantOrNull(2));
  if (has_bias) {
    CAIRN_ASSIGN_OR_RETURN(bias, call.Weight(2));
    if (bias.values.size() == 1) {
      CAIRN_RETURN_IF_ERROR(call.budget->Spend(units));
      bias.values.assign(units, bias.values[0]);
    }
    for (float& element : bias.values) element *= beta;
  }
  CAIRN_ASSIGN_OR_RETURN(OnnxValue result,
                         Dense(call, value, {matrix->name, std::move(kernel.floats)}, units,
                               has_bias ? &bias : nullptr));
  return One(std::move(result));
}

OnnxOutputs ReadOnnxMatMul(const OnnxCall& call) {
  if (call.HasValue(0) && call.HasValue(1)) return Dot(call);
  if (!call.HasValue(0)) return Error("multiplies a constant from the left, which no layer does");
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(OnnxWeight kernel, call.Weight(1));
  Shape shape = call.ConstantOrNull(1)->shape;
  while (shape.size() > 2 && shape[0] == 1) shape.erase(shape.begin());
  if (shape.size() != 2 || value.rank() < 2)
    return Error("multiplies with a constant that is no matrix");
  CAIRN_ASSIGN_OR_RETURN(OnnxValue result,
                         Dense(call, value, std::move(kernel), shape[1], nullptr));
  return One(std::move(result));
}

OnnxOutputs ReadOnnxEinsum(const OnnxCall& call) {
  const std::string equation = call.node.Text("equation", "");
  if (equation != "buvw,bxvy->buwxy") {
    return Error(absl::StrCat("has the equation '", equation, "', which no layer computes"));
  }
  std::vector<int> layers;
  for (size_t i = 0; i < 2; ++i) {
    CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value(i));
    if (value.rank() != 4 || !value.IsBatch(0)) return Error("takes inputs without 4 axes");
    CAIRN_ASSIGN_OR_RETURN(
        layers.emplace_back(),
        call.layers->Arranged(value, {value.axes[1], value.axes[2], value.axes[3]}));
  }
  CAIRN_ASSIGN_OR_RETURN(
      const int layer,
      call.layers->Add("", "Dot", OnnxArguments().Numbers("axes", std::vector<int64_t>{2, 2}),
                       layers));
  return One(WholeValue(layer, call.layers->shape(layer)));
}

namespace {

// Whether the mask keeps each step from the later ones.
bool IsCausal(const OnnxConstant& mask, int64_t steps, int64_t positions) {
  if (!mask.is_float || mask.is_uniform || mask.shape != Shape{steps, positions}) return false;
  for (int64_t i = 0; i < steps; ++i) {
    for (int64_t j = 0; j < positions; ++j) {
      if (mask.floats[i * positions + j] != (j > i ? -1e9f : 0)) return false;
    }
  }
  return true;
}

}  // namespace

OnnxOutputs ReadOnnxAttention(const OnnxCall& call, const OnnxAttention& attention) {
  std::vector<int> inputs;
  int64_t steps[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value(i));
    if (value.rank() != 3 || !value.IsBatch(0)) return Error("takes inputs without 3 axes");
    steps[i] = value.AxisSize(1);
    CAIRN_ASSIGN_OR_RETURN(inputs.emplace_back(),
                           call.layers->Arranged(value, {value.axes[1], value.axes[2]}));
  }
  const size_t each = attention.use_bias ? 2 : 1;
  std::vector<OnnxWeight> weights;
  std::vector<Shape> kernels;
  for (size_t i = 0; i < 4 * each; ++i) {
    CAIRN_ASSIGN_OR_RETURN(weights.emplace_back(), call.Weight(3 + i));
    if (i % each == 0) kernels.push_back(call.ConstantOrNull(3 + i)->shape);
    if (i % each == 0 && kernels.back().size() != 3) return Error("has kernels without 3 axes");
  }
  const int64_t key_width = kernels[0][2];
  if (!IsNear(attention.scale, 1 / std::sqrt(static_cast<double>(key_width)))) {
    return Error("scales its scores by other than the root of the keys' width");
  }
  OnnxArguments arguments;
  arguments.Number("num_heads", static_cast<double>(kernels[0][1]));
  arguments.Number("key_dim", static_cast<double>(key_width));
  arguments.Number("value_dim", static_cast<double>(kernels[2][2]));
  arguments.Number("output_shape", static_cast<double>(kernels[3][2]));
  arguments.Flag("use_bias", attention.use_bias);
  if (attention.has_mask) {
    CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const mask, call.Constant(3 + 4 * each));
    if (!IsCausal(*mask, steps[0], steps[1])) return Error("has a mask that is not causal");
    arguments.Flag("use_causal_mask", true);
  }
  if (inputs[1] == inputs[2]) inputs.pop_back();
  // "attention/query/kernel"
  std::string name = OnnxLayerName(weights[0].source, "", "");
  if (absl::EndsWith(name, ".query")) name.resize(name.size() - 6);
  CAIRN_ASSIGN_OR_RETURN(const int layer, call.layers->Add(name, "MultiHeadAttention", arguments,
                                                           inputs, std::move(weights)));
  return One(WholeValue(layer, call.layers->shape(layer)));
}

OnnxOutputs ReadOnnxBatchNormalization(const OnnxCall& call) {
  CAIRN_RETURN_IF_ERROR(call.ExpectOneOutput());
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  if (value.rank() < 2) return Error("takes an input without channels");
  call.node.Ignore({"is_test"});
  if (call.node.Int("training_mode", 0) != 0) {
    return Error("is in training mode; export the model for inference (in PyTorch: model.eval())");
  }
  if (call.node.Int("spatial", 1) == 0) return Error("has the attribute spatial = 0");
  CAIRN_ASSIGN_OR_RETURN(const auto rows, call.layers->WithLastAxis(value, value.axes[1]));
  std::vector<OnnxWeight> weights;
  for (size_t i = 1; i <= 4; ++i) {
    CAIRN_ASSIGN_OR_RETURN(weights.emplace_back(), call.Weight(i));
    if (static_cast<int64_t>(weights.back().values.size()) != rows.width) {
      return Error(absl::StrCat("input ", i, " has ", weights.back().values.size(),
                                " elements for ", rows.width, " channels"));
    }
    weights.back().values = InOrder(weights.back().values, rows.order);
  }
  OnnxArguments arguments;
  arguments.Number("epsilon", call.node.Float("epsilon", 1e-5f));
  arguments.Number("momentum", call.node.Float("momentum", 0.9f));
  OnnxValue result = rows.value;
  CAIRN_ASSIGN_OR_RETURN(result.layer,
                         call.layers->Add(call.LayerName(), "BatchNormalization", arguments,
                                          {rows.value.layer}, std::move(weights)));
  result.is_exclusive = true;
  return One(std::move(result));
}

OnnxOutputs ReadOnnxLayerNormalization(const OnnxCall& call) {
  CAIRN_RETURN_IF_ERROR(call.ExpectOneOutput());
  call.node.Ignore({"stash_type"});
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.node.Int("axis", -1), value.rank()));
  CAIRN_ASSIGN_OR_RETURN(const auto rows,
                         call.layers->WithLastAxis(value, FactorsFrom(value, axis)));
  std::vector<OnnxWeight> weights;
  OnnxArguments arguments;
  arguments.Number("epsilon", call.node.Float("epsilon", 1e-5f));
  for (size_t i = 1; i <= 2; ++i) {
    const bool is_there = call.ConstantOrNull(i) != nullptr || call.HasValue(i);
    arguments.Flag(i == 1 ? "scale" : "center", is_there);
    if (!is_there) continue;
    CAIRN_ASSIGN_OR_RETURN(weights.emplace_back(), call.Weight(i));
    if (static_cast<int64_t>(weights.back().values.size()) != rows.width) {
      return Error(absl::StrCat("input ", i, " does not have the ", rows.width,
                                " elements that are normalized"));
    }
    weights.back().values = InOrder(weights.back().values, rows.order);
  }
  OnnxValue result = rows.value;
  CAIRN_ASSIGN_OR_RETURN(result.layer,
                         call.layers->Add(call.LayerName(), "LayerNormalization", arguments,
                                          {rows.value.layer}, std::move(weights)));
  result.is_exclusive = true;
  return One(std::move(result));
}

// GroupNormalization, and InstanceNormalization, in which each channel is a group.
OnnxOutputs ReadOnnxGroupNormalization(const OnnxCall& call) {
  call.node.Ignore({"stash_type"});
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  if (value.rank() < 2 || !value.IsBatch(0)) return Error("takes an input without channels");
  const bool is_instance = call.node.op() == "InstanceNormalization";
  if (!is_instance && call.node.opset() < 21) {
    return Error("has a scale for each group (operator sets before 21); export with opset 21");
  }
  std::vector<std::vector<int>> axes;
  for (int axis = 2; axis < value.rank(); ++axis) axes.push_back(value.axes[axis]);
  axes.push_back(value.axes[1]);
  CAIRN_ASSIGN_OR_RETURN(const int input, call.layers->Arranged(value, axes));
  std::vector<OnnxWeight> weights;
  for (size_t i = 1; i <= 2; ++i) {
    CAIRN_ASSIGN_OR_RETURN(weights.emplace_back(), call.Weight(i));
  }
  OnnxArguments arguments;
  arguments.Number("epsilon", call.node.Float("epsilon", 1e-5f));
  arguments.Number("groups",
                   is_instance ? -1 : static_cast<double>(call.node.Int("num_groups", 1)));
  CAIRN_ASSIGN_OR_RETURN(const int layer, call.layers->Add(call.LayerName(), "GroupNormalization",
                                                           arguments, {input}, std::move(weights)));
  return One(ChannelsFirst(layer, call.layers->shape(layer)));
}

}  // namespace cairn::nn
