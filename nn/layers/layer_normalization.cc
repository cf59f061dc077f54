#include "nn/layers/layer_normalization.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

// The shape of the normalized axes, which must be the last ones.
Shape ReadNormalizedShape(const Shape& input, LayerConfig& config) {
  const int64_t axes = static_cast<int64_t>(input.size()) + 1;
  const std::vector<int64_t> given =
      config.Ints("axis", -axes, axes - 1).value_or(std::vector<int64_t>{-1});
  std::vector<bool> is_normalized(axes, false);
  for (int64_t axis : given) is_normalized[axis < 0 ? axis + axes : axis] = true;
  const int64_t first = axes - static_cast<int64_t>(given.size());
  for (int64_t axis = 0; axis < axes; ++axis) {
    if (first >= 1 && is_normalized[axis] == (axis >= first)) continue;
    config.FailArgument("axis", "must be the last one, or the last few");
    return {input.back()};
  }
  return Shape(input.begin() + first - 1, input.end());
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> LayerNormalizationLayer::Create(LayerConfig& config) {
  TensorSpec output = config.FloatInput(1, kRankMax);
  const Shape shape = ReadNormalizedShape(output.shape, config);
  if (config.Bool("rms_scaling", false)) config.FailArgument("rms_scaling", "is not supported");
  Arguments arguments{.centers = config.Bool("center", true),
                      .scales = config.Bool("scale", true),
                      .width = ElementCount(shape),
                      .epsilon = config.Number("epsilon", 1e-3, 0)};
  std::vector<LayerVariable> variables;
  LayerVariable gamma = config.Variable("gamma", shape, "ones");
  LayerVariable beta = config.Variable("beta", shape, "zeros");
  if (arguments.scales) variables.push_back(std::move(gamma));
  if (arguments.centers) variables.push_back(std::move(beta));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new LayerNormalizationLayer(config.base(), std::move(output),
                                                                  std::move(variables), arguments));
}

}  // namespace cairn::nn
