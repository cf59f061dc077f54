#include "nn/layers/dot.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

DotLayer::Side SideOf(const Shape& shape, int64_t axis) {
  DotLayer::Side side{.length = shape[axis]};
  for (size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<int64_t>(i) < axis) side.outer *= shape[i];
    if (static_cast<int64_t>(i) > axis) side.inner *= shape[i];
  }
  return side;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> DotLayer::Create(LayerConfig& config) {
  const std::vector<TensorSpec>& inputs = config.FloatInputs(2);
  if (inputs.size() != 2) config.Fail(absl::StrCat("takes 2 inputs, has ", inputs.size()));
  std::vector<int64_t> axes = config.Ints("axes", -16, 16).value_or(std::vector<int64_t>());
  if (axes.size() == 1) axes.push_back(axes[0]);
  if (axes.size() != 2) config.FailArgument("axes", "must be one axis, or one of each input");
  const bool normalizes = config.Bool("normalize", false);
  CAIRN_RETURN_IF_ERROR(config.Finish());

  std::array<Side, 2> sides;
  TensorSpec output;
  for (size_t i = 0; i < 2; ++i) {
    const Shape& shape = inputs[i].shape;
    const int64_t rank = static_cast<int64_t>(shape.size()) + 1;
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 1 || axis >= rank) {
      config.FailArgument("axes", absl::StrCat("names ", axes[i], ", which is not an axis of ",
                                               ShapeText(shape), " (axis 0 is the batch)"));
      return config.Finish();
    }
    sides[i] = SideOf(shape, axis - 1);
    Shape others = shape;
    others.erase(others.begin() + axis - 1);
    output.shape.insert(output.shape.end(), others.begin(), others.end());
  }
  if (sides[0].length != sides[1].length) {
    config.Fail(absl::StrCat("inputs ", ShapeText(inputs[0].shape), " and ",
                             ShapeText(inputs[1].shape), " have different lengths along 'axes'"));
    return config.Finish();
  }
  if (output.shape.empty()) output.shape = {1};
  return std::unique_ptr<const Layer>(
      new DotLayer(config.base(), std::move(output), sides, normalizes));
}

}  // namespace cairn::nn
