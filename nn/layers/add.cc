#include "nn/layers/add.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> AddLayer::Create(LayerConfig& config) {
  const std::vector<TensorSpec>& inputs = config.FloatInputs(2);
  for (const TensorSpec& input : inputs) {
    if (input.shape == inputs[0].shape) continue;
    config.Fail(absl::StrCat("inputs ", ShapeText(inputs[0].shape), " and ", ShapeText(input.shape),
                             " have different shapes"));
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new AddLayer(config.base(), TensorSpec(inputs[0])));
}

}  // namespace cairn::nn
