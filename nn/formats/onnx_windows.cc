#include "nn/formats/onnx_windows.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kSideMax = int64_t{1} << 20;

absl::Status Error(const std::string& reason) { return absl::InvalidArgumentError(reason); }

OnnxOutputs One(OnnxValue value) { return std::vector<OnnxValue>{std::move(value)}; }

// The input of such an operator with its channels last. Where the first of two spatial axes has the
// size 1, and so has the window, the input is a sequence: exports write those as flat images.
struct Planes {
  int layer = -1;
  Ints sides;  // Of the spatial axes.
  int64_t channels = 0;
  bool was_flat = false;  // An image of one row, which `sides` does not have.

  size_t rank() const { return sides.size(); }
};

absl::StatusOr<Planes> ReadPlanes(const OnnxCall& call, const OnnxValue& value, bool is_flat) {
  if (value.rank() < 3 || value.rank() > 5 || !value.IsBatch(0)) {
    return Error("takes an input that is not (batch, channels, one to three sides)");
  }
  Planes planes;
  planes.was_flat = is_flat;
  std::vector<std::vector<int>> axes;
  for (int axis = is_flat ? 3 : 2; axis < value.rank(); ++axis) {
    axes.push_back(value.axes[axis]);
    planes.sides.push_back(value.AxisSize(axis));
    if (planes.sides.back() > kSideMax) return Error("has an input with too long a side");
  }
  axes.push_back(value.axes[1]);
  planes.channels = value.AxisSize(1);
  CAIRN_ASSIGN_OR_RETURN(planes.layer, call.layers->Arranged(value, axes));
  return planes;
}

// The output of a layer with its channels last, as ONNX sees it.
OnnxValue ValueOf(const OnnxCall& call, int layer, bool was_flat) {
  OnnxValue value = ChannelsFirst(layer, call.layers->shape(layer));
  if (was_flat) value.axes.insert(value.axes.begin() + 2, std::vector<int>());
  return value;
}

std::string ClassName(const char* name, size_t rank) { return absl::StrCat(name, rank, "D"); }

// How a window slides, by spatial axis.
struct Sliding {
  Ints size, strides, dilations, before, after;
  int64_t Extent(size_t axis) const { return (size[axis] - 1) * dilations[axis] + 1; }
};

absl::StatusOr<Ints> Numbers(const OnnxCall& call, const char* name, size_t count,
                             int64_t otherwise, int64_t smallest) {
  const Ints numbers = call.node.Ints(name).value_or(Ints(count, otherwise));
  if (numbers.size() != count) {
    return Error(absl::StrCat("'", name, "' has ", numbers.size(), " numbers, not ", count));
  }
  for (const int64_t number : numbers) {
    if (number >= smallest && number <= kSideMax) continue;
    return Error(absl::StrCat("'", name, "' has ", number, "; it must be from ", smallest, " to ",
                              kSideMax));
  }
  return numbers;
}

// `sides` are those of the input, all of them.
absl::StatusOr<Sliding> ReadSliding(const OnnxCall& call, const Ints& size, const Ints& sides) {
  const size_t rank = sides.size();
  Sliding sliding{.size = size};
  if (size.size() != rank) return Error("has a kernel with other axes than its input");
  for (const int64_t side : size) {
    if (side < 1 || side > kSideMax) return Error("has a kernel with a wrong side");
  }
  CAIRN_ASSIGN_OR_RETURN(sliding.strides, Numbers(call, "strides", rank, 1, 1));
  CAIRN_ASSIGN_OR_RETURN(sliding.dilations, Numbers(call, "dilations", rank, 1, 1));
  CAIRN_ASSIGN_OR_RETURN(const Ints pads, Numbers(call, "pads", 2 * rank, 0, 0));
  sliding.before.assign(pads.begin(), pads.begin() + rank);
  sliding.after.assign(pads.begin() + rank, pads.end());
  const std::string automatic = call.node.Text("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) return sliding;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t stride = sliding.strides[axis];
    const int64_t both =
        automatic == "VALID"
            ? 0
            : std::max<int64_t>(0, ((sides[axis] + stride - 1) / stride - 1) * stride +
                                       sliding.Extent(axis) - sides[axis]);
    const int64_t less = both / 2;
    sliding.before[axis] = automatic == "SAME_LOWER" ? both - less : less;
    sliding.after[axis] = both - sliding.before[axis];
  }
  return sliding;
}

// Drops the first of two axes.
void Flatten(Sliding* sliding) {
  for (Ints* numbers : {&sliding->size, &sliding->strides, &sliding->dilations, &sliding->before,
                        &sliding->after}) {
    numbers->erase(numbers->begin());
  }
}

// Whether an image of one row is seen as a sequence.
bool IsFlat(const Sliding& sliding, const Ints& sides) {
  return sides.size() == 2 && sides[0] == 1 && sliding.size[0] == 1 && sliding.before[0] == 0 &&
         sliding.after[0] == 0;
}

Ints SidesOf(const OnnxValue& value) {
  Ints sides;
  for (int axis = 2; axis < value.rank(); ++axis) sides.push_back(value.AxisSize(axis));
  return sides;
}

// Pads with zeros, which do not change a product or, of numbers that are not negative, a maximum.
absl::StatusOr<int> ZeroPad(const OnnxCall& call, int layer, const Ints& before,
                            const Ints& after) {
  OnnxArguments arguments;
  std::vector<Ints> pairs;
  for (size_t axis = 0; axis < before.size(); ++axis) pairs.push_back({before[axis], after[axis]});
  if (pairs.size() == 1) arguments.Numbers("padding", pairs[0]);
  if (pairs.size() > 1) arguments.Pairs("padding", pairs);
  return call.layers->Add("", ClassName("ZeroPadding", before.size()), arguments, {layer});
}

// Keras's padding that is this one: "valid", "same" or "causal"; empty if there is none. Removes
// what the window does not reach.
std::string KerasPadding(Sliding* sliding, const Ints& sides, bool may_be_causal) {
  bool is_valid = true;
  bool is_same = true;
  bool is_causal = may_be_causal && sides.size() == 1;
  for (size_t axis = 0; axis < sides.size(); ++axis) {
    const int64_t stride = sliding->strides[axis];
    const int64_t extent = sliding->Extent(axis);
    const int64_t room = sides[axis] + sliding->before[axis] + sliding->after[axis] - extent;
    if (room < 0) continue;  // The layer refuses it.
    const int64_t output = room / stride + 1;
    int64_t& before = sliding->before[axis];
    int64_t& after = sliding->after[axis];
    after = std::max<int64_t>(0, (output - 1) * stride + extent - sides[axis] - before);
    const int64_t same_output = (sides[axis] + stride - 1) / stride;
    const int64_t both = std::max<int64_t>(0, (same_output - 1) * stride + extent - sides[axis]);
    is_valid = is_valid && before == 0 && after == 0;
    is_same = is_same && output == same_output && before == both / 2 && after == both - both / 2;
    is_causal = is_causal && before == extent - 1 && after == 0;
  }
  return is_valid ? "valid" : is_same ? "same" : is_causal ? "causal" : "";
}

// A Conv kernel (filters, channels, sides) with its axes in Keras's order (sides, channels,
// filters); of a ConvTranspose the same, in which the filters are the channels of its output.
absl::StatusOr<OnnxWeight> Kernel(const OnnxCall& call, bool is_flat) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const kernel, call.Constant(1));
  if (!kernel->is_float || kernel->is_uniform) return Error("has no float kernel");
  (void)is_flat;  // An axis of size 1 makes no difference.
  std::vector<int> order;
  for (int axis = 2; axis < static_cast<int>(kernel->shape.size()); ++axis) order.push_back(axis);
  order.insert(order.end(), {1, 0});
  CAIRN_RETURN_IF_ERROR(call.budget->Spend(static_cast<int64_t>(kernel->size())));
  CAIRN_ASSIGN_OR_RETURN(OnnxConstant moved, TransposedConstant(*kernel, order, call.budget));
  return OnnxWeight{kernel->name, std::move(moved.floats)};
}

// The bias, input 2, if there is one.
absl::StatusOr<bool> ReadBias(const OnnxCall& call, std::vector<OnnxWeight>* weights) {
  if (call.values.size() <= 2 || (!call.HasValue(2) && call.ConstantOrNull(2) == nullptr)) {
    return false;
  }
  CAIRN_ASSIGN_OR_RETURN(weights->emplace_back(), call.Weight(2));
  return true;
}

// The kernel's shape; checks its axes.
absl::StatusOr<Shape> KernelShape(const OnnxCall& call, const OnnxValue& value) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const kernel, call.Constant(1));
  if (static_cast<int>(kernel->shape.size()) != value.rank() || value.rank() < 3) {
    return Error("has a kernel with other axes than its input");
  }
  const Shape& shape = kernel->shape;
  const std::optional<Ints> stated = call.node.Ints("kernel_shape");
  if (stated.has_value() && *stated != Ints(shape.begin() + 2, shape.end())) {
    return Error("has a kernel that is not of its kernel_shape");
  }
  return shape;
}

}  // namespace

OnnxOutputs ReadOnnxConv(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const Shape kernel, KernelShape(call, value));
  const Ints sides = SidesOf(value);
  CAIRN_ASSIGN_OR_RETURN(Sliding sliding,
                         ReadSliding(call, Ints(kernel.begin() + 2, kernel.end()), sides));
  const bool is_flat = IsFlat(sliding, sides);
  if (is_flat) Flatten(&sliding);
  CAIRN_ASSIGN_OR_RETURN(Planes planes, ReadPlanes(call, value, is_flat));
  const int64_t groups = call.node.Int("group", 1);
  if (groups < 1 || kernel[1] < 1 || planes.channels % groups != 0 ||
      kernel[1] != planes.channels / groups || kernel[0] % groups != 0) {
    return Error(absl::StrCat("has a kernel ", ShapeText(kernel), " in ", groups, " groups for ",
                              planes.channels, " channels"));
  }
  const bool is_depthwise = groups == planes.channels && groups > 1 && planes.rank() < 3;
  std::string padding = KerasPadding(&sliding, planes.sides, /*may_be_causal=*/!is_depthwise);
  if (padding.empty()) {
    CAIRN_ASSIGN_OR_RETURN(planes.layer,
                           ZeroPad(call, planes.layer, sliding.before, sliding.after));
    padding = "valid";
  }
  OnnxArguments arguments;
  arguments.Numbers("kernel_size", sliding.size).Numbers("strides", sliding.strides);
  arguments.Numbers("dilation_rate", sliding.dilations).Text("padding", padding);
  if (is_depthwise) {
    arguments.Number("depth_multiplier", static_cast<double>(kernel[0] / groups));
  } else {
    arguments.Number("filters", static_cast<double>(kernel[0]));
    if (groups > 1) arguments.Number("groups", static_cast<double>(groups));
  }
  std::vector<OnnxWeight> weights;
  CAIRN_ASSIGN_OR_RETURN(weights.emplace_back(), Kernel(call, is_flat));
  CAIRN_ASSIGN_OR_RETURN(const bool use_bias, ReadBias(call, &weights));
  arguments.Flag("use_bias", use_bias);
  CAIRN_ASSIGN_OR_RETURN(
      const int layer,
      call.layers->Add(call.LayerName(),
                       ClassName(is_depthwise ? "DepthwiseConv" : "Conv", planes.rank()), arguments,
                       {planes.layer}, std::move(weights)));
  return One(ValueOf(call, layer, is_flat));
}

namespace {

// How a ConvTranspose is a layer: with the padding "same", or "valid" and a part of its output.
struct Transposed {
  bool is_same = true;
  Ints output_padding, cut_before, cut_after;
};

absl::StatusOr<Transposed> ReadTransposed(const OnnxCall& call, Sliding* sliding,
                                          const Ints& sides) {
  const size_t rank = sides.size();
  Transposed result;
  CAIRN_ASSIGN_OR_RETURN(const Ints extra, Numbers(call, "output_padding", rank, 0, 0));
  if (call.node.Has("output_shape")) return Error("attribute 'output_shape' is not supported");
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t stride = sliding->strides[axis];
    const int64_t extent = sliding->Extent(axis);
    const int64_t reach = stride * (sides[axis] - 1) + extent;
    const int64_t output = reach + extra[axis] - sliding->before[axis] - sliding->after[axis];
    if (output < 1) return Error("has an empty output");
    const int64_t both = std::max<int64_t>(0, extent - stride);
    result.is_same =
        result.is_same && output == sides[axis] * stride && sliding->before[axis] == both / 2;
    result.output_padding.push_back(std::max<int64_t>(0, extra[axis] - sliding->after[axis]));
    result.cut_before.push_back(sliding->before[axis]);
    result.cut_after.push_back(std::max<int64_t>(0, sliding->after[axis] - extra[axis]));
  }
  return result;
}

}  // namespace

OnnxOutputs ReadOnnxConvTranspose(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const Shape kernel, KernelShape(call, value));
  const Ints sides = SidesOf(value);
  const std::string automatic = call.node.Text("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID" && !automatic.empty()) {
    return Error("attribute 'auto_pad' is not supported; export with pads");
  }
  if (call.node.Int("group", 1) != 1) return Error("has groups, which no layer has");
  CAIRN_ASSIGN_OR_RETURN(Sliding sliding,
                         ReadSliding(call, Ints(kernel.begin() + 2, kernel.end()), sides));
  CAIRN_ASSIGN_OR_RETURN(Transposed how, ReadTransposed(call, &sliding, sides));
  const bool is_flat =
      IsFlat(sliding, sides) && how.output_padding[0] == 0 && sliding.strides[0] == 1;
  if (is_flat) {
    Flatten(&sliding);
    for (Ints* numbers : {&how.output_padding, &how.cut_before, &how.cut_after}) {
      numbers->erase(numbers->begin());
    }
  }
  CAIRN_ASSIGN_OR_RETURN(const Planes planes, ReadPlanes(call, value, is_flat));
  if (planes.rank() > 2) return Error("has three sides, which no layer has");
  if (kernel[0] != planes.channels || kernel[1] < 1) {
    return Error(
        absl::StrCat("has a kernel ", ShapeText(kernel), " for ", planes.channels, " channels"));
  }
  OnnxArguments arguments;
  arguments.Number("filters", static_cast<double>(kernel[1]));
  arguments.Numbers("kernel_size", sliding.size).Numbers("strides", sliding.strides);
  arguments.Numbers("dilation_rate", sliding.dilations);
  arguments.Text("padding", how.is_same ? "same" : "valid");
  if (!how.is_same) arguments.Numbers("output_padding", how.output_padding);
  std::vector<OnnxWeight> weights;
  CAIRN_ASSIGN_OR_RETURN(weights.emplace_back(), Kernel(call, is_flat));
  CAIRN_ASSIGN_OR_RETURN(const bool use_bias, ReadBias(call, &weights));
  arguments.Flag("use_bias", use_bias);
  CAIRN_ASSIGN_OR_RETURN(
      int layer,
      call.layers->Add(call.LayerName(), absl::StrCat("Conv", planes.rank(), "DTranspose"),
                       arguments, {planes.layer}, std::move(weights)));
  const auto is_cut = [](int64_t cut) { return cut > 0; };
  if (!how.is_same && (std::any_of(how.cut_before.begin(), how.cut_before.end(), is_cut) ||
                       std::any_of(how.cut_after.begin(), how.cut_after.end(), is_cut))) {
    OnnxArguments cropping;
    std::vector<Ints> pairs;
    for (size_t axis = 0; axis < planes.rank(); ++axis) {
      pairs.push_back({how.cut_before[axis], how.cut_after[axis]});
    }
    if (pairs.size() == 1) cropping.Numbers("cropping", pairs[0]);
    if (pairs.size() > 1) cropping.Pairs("cropping", pairs);
    CAIRN_ASSIGN_OR_RETURN(
        layer, call.layers->Add("", ClassName("Cropping", planes.rank()), cropping, {layer}));
  }
  return One(ValueOf(call, layer, is_flat));
}

OnnxOutputs ReadOnnxPool(const OnnxCall& call) {
  CAIRN_RETURN_IF_ERROR(call.ExpectOneOutput());
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  const bool is_maximum = call.node.op() == "MaxPool";
  const Ints sides = SidesOf(value);
  if (value.rank() < 3) return Error("takes an input without sides");
  CAIRN_ASSIGN_OR_RETURN(const Ints size, Numbers(call, "kernel_shape", sides.size(), 1, 1));
  CAIRN_ASSIGN_OR_RETURN(Sliding sliding, ReadSliding(call, size, sides));
  if (std::any_of(sliding.dilations.begin(), sliding.dilations.end(),
                  [](int64_t d) { return d > 1; })) {
    return Error("attribute 'dilations' other than 1 is not supported");
  }
  if (call.node.Int("storage_order", 0) != 0) return Error("has a storage_order other than 0");
  bool is_padded_more = false;
  if (call.node.Int("ceil_mode", 0) != 0) {
    // The last window reaches beyond the input; one that begins beyond it is left out.
    for (size_t axis = 0; axis < sides.size(); ++axis) {
      const int64_t stride = sliding.strides[axis];
      const int64_t room = sides[axis] + sliding.before[axis] + sliding.after[axis] - size[axis];
      if (room < 0) return Error("has a window that does not fit into its input");
      int64_t output = (room + stride - 1) / stride + 1;
      if ((output - 1) * stride >= sides[axis] + sliding.before[axis]) --output;
      const int64_t needed =
          (output - 1) * stride + size[axis] - sides[axis] - sliding.before[axis];
      is_padded_more = is_padded_more || needed > sliding.after[axis];
      sliding.after[axis] = std::max(sliding.after[axis], needed);
    }
  }
  const bool is_flat = IsFlat(sliding, sides) && sliding.strides[0] == 1;
  if (is_flat) Flatten(&sliding);
  CAIRN_ASSIGN_OR_RETURN(Planes planes, ReadPlanes(call, value, is_flat));
  std::string padding = KerasPadding(&sliding, planes.sides, /*may_be_causal=*/false);
  const bool counts_padding = call.node.Int("count_include_pad", 0) != 0;
  if (!is_maximum && padding == "same" && counts_padding) padding.clear();
  if (padding.empty()) {
    if (is_maximum && !call.layers->entry(planes.layer).is_nonnegative) {
      return Error(
          "pads its input, which may be negative, in a way that Keras's padding='same' does not; "
          "put a ReLU before it, or pad explicitly");
    }
    if (!is_maximum && (!counts_padding || is_padded_more)) {
      return Error(
          "averages without the padding (count_include_pad = 0, or ceil_mode) where the padding "
          "is not that of Keras's padding='same'");
    }
    CAIRN_ASSIGN_OR_RETURN(planes.layer,
                           ZeroPad(call, planes.layer, sliding.before, sliding.after));
    padding = "valid";
  }
  OnnxArguments arguments;
  arguments.Numbers("pool_size", sliding.size).Numbers("strides", sliding.strides);
  arguments.Text("padding", padding);
  CAIRN_ASSIGN_OR_RETURN(
      const int layer,
      call.layers->Add(call.LayerName(0),
                       ClassName(is_maximum ? "MaxPooling" : "AveragePooling", planes.rank()),
                       arguments, {planes.layer}));
  return One(ValueOf(call, layer, is_flat));
}

namespace {

// Pools all of the axes in `goes`; the others stay.
OnnxOutputs PoolAxes(const OnnxCall& call, const OnnxValue& value, const std::vector<bool>& goes,
                     bool keeps_axes, bool is_maximum, double factor) {
  std::vector<std::vector<int>> axes;
  std::vector<int> rest;
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (goes[axis] && !value.axes[axis].empty()) axes.push_back(value.axes[axis]);
    if (goes[axis] || value.IsBatch(axis)) continue;
    rest.insert(rest.end(), value.axes[axis].begin(), value.axes[axis].end());
  }
  if (axes.empty()) axes.emplace_back();
  if (axes.size() > 3) return Error("reduces more than 3 axes");
  // Their order makes no difference: that of memory needs no layer.
  std::sort(axes.begin(), axes.end());
  const size_t rank = axes.size();
  axes.push_back(rest);
  CAIRN_ASSIGN_OR_RETURN(const int input, call.layers->Arranged(value, axes));
  const char* const name = is_maximum ? "GlobalMaxPooling" : "GlobalAveragePooling";
  CAIRN_ASSIGN_OR_RETURN(int layer, call.layers->Add(call.LayerName(0), ClassName(name, rank),
                                                     OnnxArguments(), {input}));
  if (factor != 1) {
    CAIRN_ASSIGN_OR_RETURN(
        layer, call.layers->Add("", "Rescaling", OnnxArguments().Number("scale", factor), {layer}));
  }
  OnnxValue result{.layer = layer};
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (goes[axis] && !keeps_axes) continue;
    result.axes.emplace_back();
    if (value.IsBatch(axis)) result.axes.back() = {0};
    if (goes[axis] || value.IsBatch(axis)) continue;
    for (const int factor_of_axis : value.axes[axis]) {
      result.sizes.push_back(value.FactorSize(factor_of_axis));
      result.axes.back().push_back(static_cast<int>(result.sizes.size()));
    }
  }
  return One(std::move(result));
}

}  // namespace

OnnxOutputs ReadOnnxGlobalPool(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  if (value.rank() < 3) return Error("takes an input without sides");
  std::vector<bool> goes(value.rank(), true);
  goes[0] = goes[1] = false;
  return PoolAxes(call, value, goes, /*keeps_axes=*/true, call.node.op() == "GlobalMaxPool", 1);
}

OnnxOutputs ReadOnnxReduce(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const auto axes, call.Integers("axes", 1));
  const bool keeps_axes = call.node.Int("keepdims", 1) != 0;
  if (!axes.has_value() || axes->empty()) {
    if (call.node.Int("noop_with_empty_axes", 0) != 0) return One(value);
    return Error("reduces the batch too");
  }
  call.node.Ignore({"noop_with_empty_axes"});
  std::vector<bool> goes(value.rank(), false);
  double count = 1;
  for (const int64_t given : *axes) {
    CAIRN_ASSIGN_OR_RETURN(const int axis, call.Axis(given, value.rank()));
    if (value.IsBatch(axis)) return Error("reduces the batch too");
    goes[axis] = true;
    count *= static_cast<double>(value.AxisSize(axis));
  }
  return PoolAxes(call, value, goes, keeps_axes, call.node.op() == "ReduceMax",
                  call.node.op() == "ReduceSum" ? count : 1);
}

namespace {

// The sides of a Resize's output.
absl::StatusOr<Ints> ResizedSides(const OnnxCall& call, const OnnxValue& value) {
  const auto rank = static_cast<size_t>(value.rank());
  const bool is_upsample = call.node.op() == "Upsample";
  const size_t place = is_upsample || call.node.opset() < 11 ? 1 : 2;
  std::vector<float> scales = call.node.Floats("scales");
  if (const OnnxConstant* const given = call.ConstantOrNull(place)) scales = given->floats;
  if (call.HasValue(place) || call.HasValue(3)) return Error("has a size that is computed");
  Ints sides;
  if (const OnnxConstant* const sizes = call.ConstantOrNull(3)) {
    if (sizes->integers.size() != rank || sizes->integers[1] != value.AxisSize(1)) {
      return Error("changes the number of channels, or has sizes of other axes");
    }
    sides.assign(sizes->integers.begin() + 2, sizes->integers.end());
  } else if (scales.size() != rank || scales[0] != 1 || scales[1] != 1) {
    return Error("changes the batch or the channels, or has no scales");
  } else {
    for (size_t axis = 2; axis < rank; ++axis) {
      const double side =
          static_cast<double>(value.AxisSize(static_cast<int>(axis))) * scales[axis];
      if (!(side >= 0.5 && side <= kSideMax) || std::abs(side - std::round(side)) > 1e-3) {
        return Error(absl::StrCat("scales a side to ", side, ", which is no whole number"));
      }
      sides.push_back(static_cast<int64_t>(std::round(side)));
    }
  }
  for (const int64_t side : sides) {
    if (side < 1 || side > kSideMax) return Error("has an output with a wrong side");
  }
  return sides;
}

}  // namespace

OnnxOutputs ReadOnnxResize(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue value, call.Value());
  if (value.rank() < 3) return Error("takes an input without sides");
  const bool is_old = call.node.op() == "Upsample" || call.node.opset() < 11;
  const std::string mode = call.node.Text("mode", "nearest");
  const std::string coordinates =
      call.node.Text("coordinate_transformation_mode", is_old ? "asymmetric" : "half_pixel");
  const std::string rounding =
      call.node.Text("nearest_mode", is_old ? "floor" : "round_prefer_floor");
  call.node.Ignore({"cubic_coeff_a", "exclude_outside", "extrapolation_value"});
  if (call.node.Int("antialias", 0) != 0 || call.node.Has("axes") ||
      call.node.Text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return Error("attribute 'antialias', 'axes' or 'keep_aspect_ratio_policy' is not supported");
  }
  CAIRN_ASSIGN_OR_RETURN(const Ints sides, ResizedSides(call, value));
  const Ints before = SidesOf(value);
  Ints factors;
  bool is_double = true;
  for (size_t axis = 0; axis < sides.size(); ++axis) {
    if (sides[axis] % before[axis] == 0) factors.push_back(sides[axis] / before[axis]);
    is_double = is_double && !factors.empty() && factors.back() <= 2;
  }
  const bool is_upsampling = factors.size() == sides.size();
  const bool is_nearest = mode == "nearest";
  const bool is_centered =
      coordinates == "half_pixel" ||
      (coordinates == "pytorch_half_pixel" &&
       std::all_of(sides.begin(), sides.end(), [](int64_t side) { return side > 1; }));
  // Which pixels are taken: those of tf.image.resize, which are also those of a repetition.
  const bool repeats = is_upsampling && coordinates == "asymmetric" &&
                       (rounding == "floor" || (is_double && rounding == "round_prefer_floor"));
  const bool rounds = is_centered && (rounding == "round_prefer_ceil" ||
                                      (is_upsampling && rounding == "round_prefer_floor"));
  if (is_nearest ? !repeats && !rounds : mode != "linear" || !is_centered) {
    return Error(
        absl::StrCat("resizes with mode '", mode, "', coordinates '", coordinates,
                     is_nearest ? "' and rounding '" + rounding : "",
                     "'; supported: nearest (repeated pixels) and linear with half_pixel"));
  }
  CAIRN_ASSIGN_OR_RETURN(const Planes planes, ReadPlanes(call, value, /*is_flat=*/false));
  OnnxArguments arguments;
  std::string class_name = ClassName("UpSampling", planes.rank());
  if (is_upsampling && (planes.rank() == 2 || is_nearest)) {
    if (planes.rank() == 1) arguments.Number("size", static_cast<double>(factors[0]));
    if (planes.rank() > 1) arguments.Numbers("size", factors);
    if (planes.rank() == 2) arguments.Text("interpolation", is_nearest ? "nearest" : "bilinear");
  } else if (planes.rank() == 2) {
    class_name = "Resizing";
    arguments.Number("height", static_cast<double>(sides[0]));
    arguments.Number("width", static_cast<double>(sides[1]));
    arguments.Text("interpolation", is_nearest ? "nearest" : "bilinear");
  } else {
    return Error("resizes a sequence or a volume other than by repetition");
  }
  CAIRN_ASSIGN_OR_RETURN(
      const int layer, call.layers->Add(call.LayerName(0), class_name, arguments, {planes.layer}));
  return One(ValueOf(call, layer, /*was_flat=*/false));
}

}  // namespace cairn::nn
