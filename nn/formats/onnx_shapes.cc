#include "nn/formats/onnx_shapes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/onnx_recurrent.h"

namespace cairn::nn {
namespace {

absl::Status Error(const std::string& reason) { return absl::InvalidArgumentError(reason); }

OnnxOutputs One(OnnxValue value) { return std::vector<OnnxValue>{std::move(value)}; }

// What is added to (or, if negative, cut off) an axis.
struct Margin {
  int64_t before = 0;
  int64_t after = 0;
};

constexpr int64_t kMarginMax = int64_t{1} << 20;

// Adds a layer that pads (or crops) axes of ONNX, and returns the value with its result.
absl::StatusOr<OnnxValue> WithFrame(const OnnxCall& call, OnnxValue value,
                                    const std::vector<Margin>& margins, bool crops) {
  // The framed axes come first in ZeroPadding and Cropping layers, in the order that they have.
  std::vector<int> framed, others;
  for (int axis = 0; axis < value.rank(); ++axis) {
    const int64_t before = crops ? -margins[axis].before : margins[axis].before;
    const int64_t after = crops ? -margins[axis].after : margins[axis].after;
    if (value.IsBatch(axis)) {
      if (before > 0 || after > 0) return Error("changes the size of the batch");
      continue;
    }
    if (before > kMarginMax || after > kMarginMax) return Error("has too large a margin");
    (before > 0 || after > 0 ? framed : others).push_back(axis);
  }
  if (framed.empty()) return value;
  const auto by_memory = [&value](int a, int b) {
    const auto first = [&](int axis) { return value.axes[axis].empty() ? 0 : value.axes[axis][0]; };
    return first(a) < first(b);
  };
  std::stable_sort(framed.begin(), framed.end(), by_memory);
  std::stable_sort(others.begin(), others.end(), by_memory);
  // A frame of images has two axes and the channels.
  while (framed.size() < 3 && others.size() > 1) {
    framed.push_back(others.front());
    others.erase(others.begin());
    std::stable_sort(framed.begin(), framed.end(), by_memory);
  }
  if (framed.size() > 3) return Error("pads or cuts more than 3 axes");
  std::vector<std::vector<int>> axes;
  std::vector<std::vector<int64_t>> pairs;
  for (const int axis : framed) {
    axes.push_back(value.axes[axis]);
    const Margin& margin = margins[axis];
    const auto margin_of = [&](int64_t both) { return std::max<int64_t>(0, crops ? -both : both); };
    pairs.push_back({margin_of(margin.before), margin_of(margin.after)});
  }
  axes.emplace_back();
  for (const int axis : others) {
    axes.back().insert(axes.back().end(), value.axes[axis].begin(), value.axes[axis].end());
  }
  CAIRN_ASSIGN_OR_RETURN(const int input, call.layers->Arranged(value, axes));
  const char* const argument = crops ? "cropping" : "padding";
  OnnxArguments arguments;
  if (framed.size() == 1) arguments.Numbers(argument, pairs[0]);
  if (framed.size() > 1) arguments.Pairs(argument, pairs);
  CAIRN_ASSIGN_OR_RETURN(
      const int layer,
      call.layers->Add("", absl::StrCat(crops ? "Cropping" : "ZeroPadding", framed.size(), "D"),
                       arguments, {input}));
  OnnxValue result{.layer = layer};
  result.axes.resize(value.axes.size());
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (value.IsBatch(axis)) result.axes[axis] = {0};
  }
  for (size_t i = 0; i < framed.size(); ++i) {
    result.sizes.push_back(call.layers->shape(layer)[i]);
    result.axes[framed[i]] = {static_cast<int>(result.sizes.size())};
  }
  for (const int axis : others) {
    for (const int factor : value.axes[axis]) {
      result.sizes.push_back(value.FactorSize(factor));
      result.axes[axis].push_back(static_cast<int>(result.sizes.size()));
    }
  }
  return result;
}

absl::StatusOr<OnnxValue> Framed(const OnnxCall& call, OnnxValue value,
                                 const std::vector<Margin>& margins) {
  CAIRN_ASSIGN_OR_RETURN(value, WithFrame(call, std::move(value), margins, /*crops=*/true));
  return WithFrame(call, std::move(value), margins, /*crops=*/false);
}

// Elements [begin, end) of an axis.
absl::StatusOr<OnnxValue> Part(const OnnxCall& call, const OnnxValue& value, int axis,
                               int64_t begin, int64_t end) {
  std::vector<Margin> margins(value.rank());
  const int64_t size = value.AxisSize(axis);
  if (begin == 0 && end == size) return value;
  if (value.IsBatch(axis)) return Error("takes a part of the batch");
  if (begin >= end) return Error("takes nothing of its input");
  margins[axis] = {-begin, end - size};
  return Framed(call, value, margins);
}

}  // namespace

OnnxOutputs ReadOnnxIdentity(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  return One(std::move(value));
}

OnnxOutputs ReadOnnxDropout(const OnnxCall& call) {
  CAIRN_RETURN_IF_ERROR(call.ExpectOneOutput());
  call.node.Ignore({"seed", "is_test"});
  double rate = call.node.Float("ratio", 0.5f);
  if (const OnnxConstant* const ratio = call.ConstantOrNull(1); ratio && ratio->size() == 1) {
    rate = ratio->number();
  }
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  if (!(rate > 0 && rate < 1) || value.reversed >= 0) return One(std::move(value));
  CAIRN_ASSIGN_OR_RETURN(value.layer,
                         call.layers->Add(call.LayerName(0), "Dropout",
                                          OnnxArguments().Number("rate", rate), {value.layer}));
  value.is_exclusive = true;
  return One(std::move(value));
}

OnnxOutputs ReadOnnxCast(const OnnxCall& call) {
  using Type = onnx::TensorProto;
  call.node.Ignore({"saturate"});
  const int64_t to = call.node.Int("to", 0);
  const bool to_float =
      to == Type::FLOAT || to == Type::DOUBLE || to == Type::FLOAT16 || to == Type::BFLOAT16;
  const bool to_integer =
      to == Type::INT32 || to == Type::INT64 || to == Type::UINT8 || to == Type::INT8;
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  const bool is_integer = call.layers->IsInteger(value.layer);
  if (to_float == !is_integer && to_float != to_integer) return One(std::move(value));
  const int integers = call.layers->WithoutCast(value.layer);
  if (to_integer && integers != value.layer) {
    value.layer = integers;
    value.is_exclusive = false;
    return One(std::move(value));
  }
  if (!to_float) return Error(absl::StrCat("casts to the data type ", to, "; numbers are float32"));
  CAIRN_ASSIGN_OR_RETURN(
      value.layer,
      call.layers->Add("", "Rescaling", OnnxArguments().Number("scale", 1), {value.layer}));
  value.is_exclusive = true;
  return One(std::move(value));
}

OnnxOutputs ReadOnnxTranspose(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  OnnxValue result = value;
  std::vector<int64_t> order;
  for (int i = value.rank(); i-- > 0;) order.push_back(i);
  order = call.node.Ints("perm").value_or(order);
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < value.rank(); ++i) {
    if (static_cast<int>(sorted.size()) != value.rank() || sorted[i] != i) {
      return Error("'perm' does not name each axis once");
    }
  }
  for (int i = 0; i < value.rank(); ++i) result.axes[i] = value.axes[order[i]];
  return One(std::move(result));
}

OnnxOutputs ReadOnnxReshape(const OnnxCall& call) {
  call.node.Ignore({"allowzero"});
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const auto sizes, call.Integers("shape", 1));
  if (!sizes.has_value()) return Error("has no shape");
  for (const Shape& target : ReshapeTargets(value, *sizes, call.file_batch)) {
    if (auto result = Regrouped(value, target)) return One(*std::move(result));
  }
  // The elements first get the order that ONNX has, each axis whole.
  std::vector<std::vector<int>> axes;
  for (const auto& axis : value.axes) {
    if (axis.size() != 1 || axis[0] != 0) axes.push_back(axis);
  }
  const int batch = value.batch_axis();
  if (batch != 0) return Error("divides the batch, or moves it");
  CAIRN_ASSIGN_OR_RETURN(const int layer, call.layers->Arranged(value, axes));
  Shape sizes_of_axes;
  for (int axis = 1; axis < value.rank(); ++axis) sizes_of_axes.push_back(value.AxisSize(axis));
  // One axis, which divides into any others.
  Shape flat = {1};
  for (const int64_t size : sizes_of_axes) flat[0] *= size;
  OnnxValue whole = WholeValue(layer, flat);
  whole.is_exclusive = value.is_exclusive;
  std::vector<Shape> targets = ReshapeTargets(value, *sizes, call.file_batch);
  for (const Shape& target : targets) {
    if (auto result = Regrouped(whole, target)) return One(*std::move(result));
  }
  return Error(absl::StrCat("cannot give ", ShapeText(sizes_of_axes),
                            " (without the batch) the shape ", ShapeText(*sizes)));
}

OnnxOutputs ReadOnnxFlatten(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  const int64_t at = call.node.Int("axis", 1);
  const int64_t first = at < 0 ? at + value.rank() : at;
  if (first < 0 || first > value.rank()) return Error(absl::StrCat("has the axis ", at));
  std::vector<std::vector<int>> axes(2);
  for (int axis = 0; axis < value.rank(); ++axis) {
    std::vector<int>& group = axes[axis < first ? 0 : 1];
    group.insert(group.end(), value.axes[axis].begin(), value.axes[axis].end());
  }
  value.axes = std::move(axes);
  return One(std::move(value));
}

OnnxOutputs ReadOnnxSqueeze(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const auto axes, call.Integers("axes", 1));
  std::vector<bool> goes(value.rank(), false);
  for (const int64_t given : axes.value_or(std::vector<int64_t>())) {
    CAIRN_ASSIGN_OR_RETURN(const int axis, call.Axis(given, value.rank()));
    if (value.AxisSize(axis) != 1) {
      return Error(absl::StrCat("removes axis ", axis, ", which does not have the size 1"));
    }
    goes[axis] = true;
  }
  std::vector<std::vector<int>> left;
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (!axes.has_value()) goes[axis] = value.AxisSize(axis) == 1;
    if (!goes[axis]) left.push_back(value.axes[axis]);
  }
  value.axes = std::move(left);
  return One(std::move(value));
}

OnnxOutputs ReadOnnxUnsqueeze(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const auto axes, call.Integers("axes", 1));
  if (!axes.has_value() || axes->size() > 8) return Error("has no axes, or too many");
  const int rank = value.rank() + static_cast<int>(axes->size());
  std::vector<bool> is_new(rank, false);
  for (const int64_t given : *axes) {
    CAIRN_ASSIGN_OR_RETURN(const int axis, call.Axis(given, rank));
    if (is_new[axis]) return Error("names an axis twice");
    is_new[axis] = true;
  }
  std::vector<std::vector<int>> result;
  size_t next = 0;
  for (int axis = 0; axis < rank; ++axis) {
    result.push_back(is_new[axis] ? std::vector<int>() : value.axes[next++]);
  }
  value.axes = std::move(result);
  return One(std::move(value));
}

absl::StatusOr<OnnxAligned> AlignOnnxValues(const OnnxCall& call, bool needs_places) {
  std::vector<OnnxValue> inputs;
  for (size_t i = 0; i < call.values.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(inputs.emplace_back(), call.Value(i));
  }
  if (inputs.empty()) return Error("has no inputs");
  OnnxAligned aligned{.value = inputs[0]};
  for (const OnnxValue& input : inputs) {
    if (ElementCount(input.sizes) > ElementCount(aligned.value.sizes)) aligned.value = input;
  }
  OnnxValue& value = aligned.value;
  bool is_simple = true;  // All have the same view of layers of one shape.
  for (const OnnxValue& input : inputs) {
    if (input.reversed >= 0) return Error("takes a sequence in the opposite order");
    is_simple = is_simple && input.axes == value.axes && input.sizes == value.sizes &&
                call.layers->shape(input.layer) == call.layers->shape(value.layer);
  }
  const bool has_single = [&] {
    int count = 0;
    for (const auto& axis : value.axes) count += axis.size() == 1 ? 1 : 0;
    return count == value.rank() && call.layers->shape(value.layer) == value.sizes &&
           count == static_cast<int>(value.sizes.size()) + 1;
  }();
  if (is_simple && (has_single || !needs_places)) {
    for (const auto& axis : value.axes) aligned.places.push_back(axis.empty() ? 0 : axis[0]);
    for (const OnnxValue& input : inputs) aligned.layers.push_back(input.layer);
    value.is_exclusive = true;
    return aligned;
  }
  const int batch = value.batch_axis();
  if (batch < 0) return Error("takes inputs in which the batch is divided differently");
  aligned.places.assign(value.rank(), 0);
  // The order of the axes in memory: that of the largest input.
  std::vector<int> order;
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (axis != batch) order.push_back(axis);
  }
  const bool keeps_order = std::all_of(order.begin(), order.end(), [&](int axis) {
    return std::is_sorted(value.axes[axis].begin(), value.axes[axis].end());
  });
  if (keeps_order) {
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const auto first = [&](int axis) {
        return value.axes[axis].empty() ? 0 : value.axes[axis][0];
      };
      return first(a) < first(b);
    });
  }
  for (const OnnxValue& input : inputs) {
    const int offset = value.rank() - input.rank();
    if (input.rank() > value.rank() || batch < offset || !input.IsBatch(batch - offset)) {
      return Error("takes inputs whose batches are not the same axis");
    }
    std::vector<std::vector<int>> axes;
    for (const int axis : order) {
      axes.push_back(axis < offset ? std::vector<int>() : input.axes[axis - offset]);
    }
    CAIRN_ASSIGN_OR_RETURN(aligned.layers.emplace_back(), call.layers->Arranged(input, axes));
  }
  OnnxValue whole{.layer = -1};
  whole.axes.resize(value.rank());
  whole.axes[batch] = {0};
  for (size_t i = 0; i < order.size(); ++i) {
    whole.sizes.push_back(value.AxisSize(order[i]));
    whole.axes[order[i]] = {static_cast<int>(i) + 1};
    aligned.places[order[i]] = static_cast<int>(i) + 1;
  }
  value = std::move(whole);
  return aligned;
}

OnnxOutputs ReadOnnxConcat(const OnnxCall& call) {
  if (call.values.size() == 1) return ReadOnnxIdentity(call);
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue first, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.node.Int("axis", 1), first.rank()));
  CAIRN_ASSIGN_OR_RETURN(auto directions, MergeOnnxDirections(call, "concat", axis));
  if (directions.has_value()) return One(*std::move(directions));
  CAIRN_ASSIGN_OR_RETURN(OnnxAligned aligned, AlignOnnxValues(call, /*needs_places=*/true));
  if (aligned.places[axis] == 0) {
    return Error("joins inputs along the batch, or axes that contain it");
  }
  const int place = aligned.places[axis];
  CAIRN_ASSIGN_OR_RETURN(aligned.value.layer,
                         call.layers->Add(call.LayerName(0), "Concatenate",
                                          OnnxArguments().Number("axis", place), aligned.layers));
  aligned.value.sizes = call.layers->shape(aligned.value.layer);
  return One(std::move(aligned.value));
}

// One axis of size 1 grows.
OnnxOutputs ReadOnnxExpand(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const auto sizes, call.Integers("shape", 1));
  if (!sizes.has_value()) return Error("has no shape");
  while (value.axes.size() < sizes->size()) {
    value.axes.insert(value.axes.begin(), std::vector<int>());
  }
  const int offset = value.rank() - static_cast<int>(sizes->size());
  int grown = -1;
  std::vector<int> rest;
  for (int axis = 0; axis < value.rank(); ++axis) {
    const int64_t size = value.AxisSize(axis);
    const int64_t to = axis < offset ? 1 : (*sizes)[axis - offset];
    rest.insert(rest.end(), value.axes[axis].begin(), value.axes[axis].end());
    if (to == size || to == 1 || value.IsBatch(axis)) continue;
    if (size != 1 || grown >= 0 || to < 1) return Error("expands more than one axis of size 1");
    grown = axis;
  }
  if (grown < 0) return One(std::move(value));
  const int64_t times = (*sizes)[grown - offset];
  if (times == kOnnxBatch) return Error("repeats its input for each example of the batch");
  rest.erase(std::remove(rest.begin(), rest.end(), 0), rest.end());
  if (value.batch_axis() < 0) return Error("needs the batch as an axis of its own");
  CAIRN_ASSIGN_OR_RETURN(const int flat, call.layers->Arranged(value, {rest}));
  OnnxValue result{.layer = -1, .sizes = {times}};
  CAIRN_ASSIGN_OR_RETURN(
      result.layer,
      call.layers->Add("", "RepeatVector", OnnxArguments().Number("n", static_cast<double>(times)),
                       {flat}));
  for (int axis = 0; axis < value.rank(); ++axis) {
    result.axes.emplace_back();
    if (axis == grown) result.axes.back() = {1};
    for (const int factor : value.axes[axis]) {
      if (factor == 0) result.axes.back().push_back(0);
      if (factor == 0 || axis == grown) continue;
      result.sizes.push_back(value.FactorSize(factor));
      result.axes.back().push_back(static_cast<int>(result.sizes.size()));
    }
  }
  return One(std::move(result));
}

namespace {

// Rows of a constant table for ids.
absl::StatusOr<OnnxValue> Embedding(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxWeight table, call.Weight(0));
  const Shape& shape = call.ConstantOrNull(0)->shape;
  if (shape.size() != 2 || call.node.Int("axis", 0) != 0) {
    return Error("takes elements of a constant that is no table of rows (axis 0 of 2)");
  }
  CAIRN_ASSIGN_OR_RETURN(OnnxValue ids, call.Value(1));
  if (!call.layers->IsInteger(ids.layer)) return Error("takes ids that are not whole numbers");
  std::vector<std::vector<int>> axes;
  for (int factor = 1; factor <= static_cast<int>(ids.sizes.size()); ++factor) {
    axes.push_back({factor});
  }
  CAIRN_ASSIGN_OR_RETURN(const int input, call.layers->Arranged(ids, axes));
  OnnxArguments arguments;
  arguments.Number("input_dim", static_cast<double>(shape[0]));
  arguments.Number("output_dim", static_cast<double>(shape[1]));
  std::vector<OnnxWeight> weights;
  weights.push_back(std::move(table));
  CAIRN_ASSIGN_OR_RETURN(ids.layer, call.layers->Add(call.LayerName(0), "Embedding", arguments,
                                                     {input}, std::move(weights)));
  ids.sizes.push_back(shape[1]);
  ids.axes.push_back({static_cast<int>(ids.sizes.size())});
  ids.is_exclusive = true;
  return ids;
}

}  // namespace

OnnxOutputs ReadOnnxGather(const OnnxCall& call) {
  if (call.ConstantOrNull(0) != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(OnnxValue rows, Embedding(call));
    return One(std::move(rows));
  }
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.node.Int("axis", 0), value.rank()));
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const at, call.Constant(1));
  if (at->size() != 1 || at->is_float || at->shape.size() > 1 || at->is_uniform) {
    return Error("takes several elements of a computed value; only one is supported");
  }
  const int64_t size = value.AxisSize(axis);
  const int64_t index = at->integers[0] < 0 ? at->integers[0] + size : at->integers[0];
  if (value.IsBatch(axis) || index < 0 || index >= size) {
    return Error("takes an element of the batch, or one that there is not");
  }
  CAIRN_ASSIGN_OR_RETURN(OnnxValue part, Part(call, value, axis, index, index + 1));
  if (at->shape.empty()) part.axes.erase(part.axes.begin() + axis);
  return One(std::move(part));
}

OnnxOutputs ReadOnnxSlice(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const auto starts, call.Integers("starts", 1));
  CAIRN_ASSIGN_OR_RETURN(const auto ends, call.Integers("ends", 2));
  CAIRN_ASSIGN_OR_RETURN(const auto axes, call.Integers("axes", 3));
  CAIRN_ASSIGN_OR_RETURN(const auto steps, call.Integers("steps", 4));
  const size_t count = starts.has_value() ? starts->size() : 0;
  if (!ends.has_value() || ends->size() != count || (axes.has_value() && axes->size() != count) ||
      (steps.has_value() && steps->size() != count)) {
    return Error("has lists of different lengths");
  }
  for (size_t i = 0; i < count; ++i) {
    const int64_t given = axes.has_value() ? (*axes)[i] : static_cast<int64_t>(i);
    CAIRN_ASSIGN_OR_RETURN(const int axis, call.Axis(given, value.rank()));
    const int64_t size = value.AxisSize(axis);
    const int64_t step = steps.has_value() ? (*steps)[i] : 1;
    const auto bound = [size](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? (at < -size ? 0 : at + size) : at, 0, size);
    };
    if (step == 1) {
      CAIRN_ASSIGN_OR_RETURN(value,
                             Part(call, value, axis, bound((*starts)[i]), bound((*ends)[i])));
      continue;
    }
    // The last element first, down to the first.
    const int64_t first = (*starts)[i] < 0 ? (*starts)[i] + size : (*starts)[i];
    const bool is_whole = step == -1 && first >= size - 1 && (*ends)[i] < -size;
    if (!is_whole || value.IsBatch(axis)) {
      return Error(
          absl::StrCat("has the step ", step, "; only 1 is supported, or -1 over a whole axis"));
    }
    if (size == 1) continue;
    if (value.axes[axis].size() != 1 ||
        (value.reversed >= 0 && value.reversed != value.axes[axis][0])) {
      return Error("reverses an axis that is several");
    }
    value.reversed = value.reversed >= 0 ? -1 : value.axes[axis][0];
  }
  return One(std::move(value));
}

OnnxOutputs ReadOnnxSplit(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const int axis, call.Axis(call.node.Int("axis", 0), value.rank()));
  CAIRN_ASSIGN_OR_RETURN(auto lengths, call.Integers("split", 1));
  const int64_t size = value.AxisSize(axis);
  const auto parts = static_cast<int64_t>(call.is_used.size());
  call.node.Ignore({"num_outputs"});
  if (!lengths.has_value()) {
    // The last part may be smaller.
    lengths.emplace();
    const int64_t each = (size + parts - 1) / std::max<int64_t>(parts, 1);
    for (int64_t i = 0; i < parts; ++i) lengths->push_back(std::min(each, size - i * each));
  }
  std::vector<OnnxValue> results;
  int64_t begin = 0;
  for (size_t i = 0; i < call.is_used.size(); ++i) {
    const int64_t length = i < lengths->size() ? (*lengths)[i] : 0;
    if (length < 1 || length > size - begin) return Error("has parts that do not fill its axis");
    results.push_back(value);
    if (call.is_used[i]) {
      CAIRN_ASSIGN_OR_RETURN(results.back(), Part(call, value, axis, begin, begin + length));
    }
    begin += length;
  }
  return results;
}

OnnxOutputs ReadOnnxPad(const OnnxCall& call) {
  if (call.node.Text("mode", "constant") != "constant") {
    return Error(absl::StrCat("has the mode '", call.node.Text("mode", ""),
                              "'; only 'constant' is supported"));
  }
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const auto pads, call.Integers("pads", 1));
  CAIRN_ASSIGN_OR_RETURN(const auto axes, call.Integers("axes", 3));
  double with = call.node.Float("value", 0);
  if (const OnnxConstant* const given = call.ConstantOrNull(2); given && given->size() == 1) {
    with = given->number();
  }
  const size_t count = axes.has_value() ? axes->size() : value.axes.size();
  if (!pads.has_value() || pads->size() != 2 * count) return Error("needs two pads for each axis");
  std::vector<Margin> margins(value.rank());
  for (size_t i = 0; i < count; ++i) {
    const int64_t given = axes.has_value() ? (*axes)[i] : static_cast<int64_t>(i);
    CAIRN_ASSIGN_OR_RETURN(const int axis, call.Axis(given, value.rank()));
    margins[axis] = {(*pads)[i], (*pads)[count + i]};
    if (std::min(margins[axis].before, margins[axis].after) < -kTensorElementsMax) {
      return Error("cuts off more than there is");
    }
    if (with != 0 && std::max(margins[axis].before, margins[axis].after) > 0) {
      return Error(absl::StrCat("pads with ", with, "; only 0 is supported"));
    }
  }
  CAIRN_ASSIGN_OR_RETURN(OnnxValue result, Framed(call, value, margins));
  return One(std::move(result));
}

}  // namespace cairn::nn
