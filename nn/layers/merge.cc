#include "nn/layers/merge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

using Kind = MergeLayer::Kind;

Kind KindOf(const std::string& class_name) {
  if (class_name == "Subtract") return Kind::kSubtract;
  if (class_name == "Multiply") return Kind::kMultiply;
  if (class_name == "Average") return Kind::kAverage;
  if (class_name == "Maximum") return Kind::kMaximum;
  return class_name == "Minimum" ? Kind::kMinimum : Kind::kAdd;
}

// Broadcasts `shape` with `input`. Returns false if the shapes are not compatible.
bool Broadcast(const Shape& input, Shape* shape) {
  if (input.size() != shape->size()) return false;
  for (size_t axis = 0; axis < input.size(); ++axis) {
    int64_t& length = (*shape)[axis];
    if (length != input[axis] && length != 1 && input[axis] != 1) return false;
    length = std::max(length, input[axis]);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> MergeLayer::Create(LayerConfig& config) {
  const std::vector<TensorSpec>& inputs = config.FloatInputs(2);
  const Kind kind = KindOf(config.class_name());
  if (kind == Kind::kSubtract && inputs.size() != 2) {
    config.Fail(absl::StrCat("takes exactly 2 inputs, has ", inputs.size()));
  }
  TensorSpec output = inputs[0];
  for (const TensorSpec& input : inputs) {
    if (Broadcast(input.shape, &output.shape)) continue;
    config.Fail(absl::StrCat("inputs ", ShapeText(inputs[0].shape), " and ", ShapeText(input.shape),
                             " have different shapes"));
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new MergeLayer(config.base(), std::move(output), kind));
}

}  // namespace cairn::nn
