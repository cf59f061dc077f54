#include "nn/layers/pooling2d.h"

#include <utility>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> Pooling2DLayer::Create(LayerConfig& config) {
  const Shape& input = config.FloatInput(3, 3).shape;
  config.ExpectChannelsLast();
  const Window window =
      ReadWindow({.size_argument = "pool_size", .strides_follow_size = true}, input, config);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  const Kind kind = config.class_name() == "MaxPooling2D" ? Kind::kMaximum : Kind::kAverage;
  TensorSpec output{.shape = {window.output[0], window.output[1], input[2]}};
  return std::unique_ptr<const Layer>(
      new Pooling2DLayer(config.base(), std::move(output), kind, window));
}

}  // namespace cairn::nn
