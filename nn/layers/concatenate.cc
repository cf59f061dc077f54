#include "nn/layers/concatenate.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> ConcatenateLayer::Create(LayerConfig& config) {
  const std::vector<TensorSpec>& inputs = config.FloatInputs(1);
  TensorSpec output = inputs[0];
  const int64_t axis = config.Axis("axis", -1, output.shape.size());
  if (output.shape.empty()) config.Fail("takes inputs with an axis beside the batch");
  CAIRN_RETURN_IF_ERROR(config.Finish());
  output.shape[axis] = 0;
  for (const TensorSpec& input : inputs) {
    Shape others = input.shape;
    if (others.size() == output.shape.size()) others[axis] = output.shape[axis];
    if (others != output.shape) {
      config.Fail(absl::StrCat("inputs ", ShapeText(inputs[0].shape), " and ",
                               ShapeText(input.shape), " differ in an axis other than ", axis + 1));
      return config.Finish();
    }
    output.shape[axis] += input.shape[axis];
  }
  return std::unique_ptr<const Layer>(new ConcatenateLayer(config.base(), std::move(output), axis));
}

}  // namespace cairn::nn
