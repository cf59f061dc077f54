#include "nn/layers/global_average_pooling2d.h"

#include <utility>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> GlobalAveragePooling2DLayer::Create(
    LayerConfig& config) {
  const Shape& input = config.FloatInput(3, 3).shape;
  config.ExpectChannelsLast();
  const bool keep_dimensions = config.Bool("keepdims", false);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  TensorSpec output{.shape = keep_dimensions ? Shape{1, 1, input[2]} : Shape{input[2]}};
  return std::unique_ptr<const Layer>(
      new GlobalAveragePooling2DLayer(config.base(), std::move(output)));
}

}  // namespace cairn::nn
