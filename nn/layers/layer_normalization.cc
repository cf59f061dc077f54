#include "nn/layers/layer_normalization.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

// Axes [first, end) of an example's shape.
struct AxisRange {
  int64_t first = 0;
  int64_t end = 0;
};

// The axes of the argument "axis", which must be adjacent, and the last ones if `last`.
AxisRange ReadAxes(const Shape& input, bool last, LayerConfig& config) {
  const int64_t axes = static_cast<int64_t>(input.size()) + 1;
  const std::vector<int64_t> given =
      config.Ints("axis", -axes, axes - 1).value_or(std::vector<int64_t>{-1});
  std::vector<bool> is_normalized(axes, false);
  for (int64_t axis : given) is_normalized[axis < 0 ? axis + axes : axis] = true;
  const auto first = std::find(is_normalized.begin(), is_normalized.end(), true);
  const auto end = std::find(first, is_normalized.end(), false);
  if (!is_normalized[0] && end - first == static_cast<int64_t>(given.size()) &&
      first != is_normalized.end() && (!last || end == is_normalized.end())) {
    return {first - is_normalized.begin() - 1, end - is_normalized.begin() - 1};
  }
  config.FailArgument("axis", last ? "must be the last one, or the last few"
                                   : "must be one, or adjacent ones, without the batch");
  return {axes - 2, axes - 1};
}

// The shape of the normalized axes, which must be the last ones.
Shape ReadNormalizedShape(const Shape& input, LayerConfig& config) {
  const AxisRange range = ReadAxes(input, /*last=*/true, config);
  return Shape(input.begin() + range.first, input.begin() + range.end);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> LayerNormalizationLayer::Create(LayerConfig& config) {
  const Shape shape = ReadNormalizedShape(config.FloatInput(1, kRankMax).shape, config);
  if (config.Bool("rms_scaling", false)) config.FailArgument("rms_scaling", "is not supported");
  return CreateScaled(shape, {.width = ElementCount(shape)}, config);
}

absl::StatusOr<std::unique_ptr<const Layer>> LayerNormalizationLayer::CreateGroup(
    LayerConfig& config) {
  const Shape& input = config.FloatInput(1, kRankMax).shape;
  const int64_t channels = input.back();
  if (config.Axis("axis", -1, input.size()) + 1 != static_cast<int64_t>(input.size())) {
    config.FailArgument("axis", "must be the last one");
  }
  // -1: each channel is a group.
  int64_t groups = config.Int("groups", 32, -1);
  if (groups == -1) groups = channels;
  if (groups == 0 || channels % groups != 0) {
    config.FailArgument("groups",
                        absl::StrCat("must divide the ", channels, " channels, is ", groups));
    groups = 1;
  }
  return CreateScaled(
      {channels},
      {.positions = ElementCount(input) / channels, .groups = groups, .width = channels / groups},
      config);
}

absl::StatusOr<std::unique_ptr<const Layer>> LayerNormalizationLayer::CreateRms(
    LayerConfig& config) {
  const Shape shape = ReadNormalizedShape(config.FloatInput(1, kRankMax).shape, config);
  const Arguments arguments{.kind = Kind::kRootMeanSquare,
                            .scales = true,
                            .width = ElementCount(shape),
                            .epsilon = config.Number("epsilon", 1e-6, 0)};
  return Finish(arguments, {config.Variable("scale", shape, "ones")}, config);
}

absl::StatusOr<std::unique_ptr<const Layer>> LayerNormalizationLayer::CreateUnit(
    LayerConfig& config) {
  const Shape& input = config.FloatInput(1, kRankMax).shape;
  const AxisRange range = ReadAxes(input, /*last=*/false, config);
  // The elements of the axes after the range are `inner` sets that alternate in memory.
  int64_t length = 1;
  int64_t inner = 1;
  for (int64_t axis = range.first; axis < range.end; ++axis) length *= input[axis];
  for (size_t axis = range.end; axis < input.size(); ++axis) inner *= input[axis];
  constexpr double kKerasEpsilon = 1e-24;
  Arguments arguments{.kind = Kind::kUnit, .width = length, .epsilon = kKerasEpsilon};
  if (inner > 1) arguments = {Kind::kUnit, false, false, length, inner, 1, kKerasEpsilon};
  return Finish(arguments, {}, config);
}

absl::StatusOr<std::unique_ptr<const Layer>> LayerNormalizationLayer::CreateScaled(
    const Shape& shape, Arguments arguments, LayerConfig& config) {
  arguments.centers = config.Bool("center", true);
  arguments.scales = config.Bool("scale", true);
  arguments.epsilon = config.Number("epsilon", 1e-3, 0);
  std::vector<LayerVariable> variables;
  LayerVariable gamma = config.Variable("gamma", shape, "ones");
  LayerVariable beta = config.Variable("beta", shape, "zeros");
  if (arguments.scales) variables.push_back(std::move(gamma));
  if (arguments.centers) variables.push_back(std::move(beta));
  return Finish(arguments, std::move(variables), config);
}

absl::StatusOr<std::unique_ptr<const Layer>> LayerNormalizationLayer::Finish(
    const Arguments& arguments, std::vector<LayerVariable> variables, LayerConfig& config) {
  TensorSpec output = config.FloatInput(1, kRankMax);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new LayerNormalizationLayer(config.base(), std::move(output),
                                                                  std::move(variables), arguments));
}

}  // namespace cairn::nn
