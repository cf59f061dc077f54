#include "nn/layers/pooling2d.h"

#include <utility>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> Pooling2DLayer::Create(LayerConfig& config) {
  const bool flat = absl::EndsWith(config.class_name(), "1D");
  const bool is_volume = absl::EndsWith(config.class_name(), "3D");
  const size_t rank = is_volume ? 4 : flat ? 2 : 3;
  const Shape input = ImageOf(config.FloatInput(rank, rank).shape);
  config.ExpectChannelsLast();
  const WindowRules rules = {
      .size_argument = "pool_size", .strides_follow_size = true, .one_dimension = flat};
  VolumeWindow window;
  if (is_volume) {
    window = ReadVolumeWindow(rules, input, config);
  } else {
    window.plane = ReadWindow(rules, input, config);
  }
  // Not an argument of Keras: the reader sets it for models of TensorFlow.js.
  const bool has_gradient_of_tfjs = config.Bool("gradient_of_tfjs", false);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  const bool is_maximum = absl::StartsWith(config.class_name(), "Max");
  TensorSpec output{.shape = window.output()};
  output.shape.push_back(input.back());
  if (!is_volume)
    output.shape = WithoutRow(Shape(output.shape.begin() + 1, output.shape.end()), flat);
  return std::unique_ptr<const Layer>(new Pooling2DLayer(
      config.base(), std::move(output), is_maximum ? Kind::kMaximum : Kind::kAverage, window,
      has_gradient_of_tfjs));
}

}  // namespace cairn::nn
