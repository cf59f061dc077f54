#include "nn/layers/global_pooling.h"

#include <utility>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> GlobalPoolingLayer::Create(LayerConfig& config) {
  const size_t rank = absl::EndsWith(config.class_name(), "1D")   ? 2
                      : absl::EndsWith(config.class_name(), "3D") ? 4
                                                                  : 3;
  const Shape& input = config.FloatInput(rank, rank).shape;
  config.ExpectChannelsLast();
  const bool keeps_dimensions = config.Bool("keepdims", false);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  const bool is_maximum = absl::StartsWith(config.class_name(), "GlobalMax");
  TensorSpec output{.shape = {input.back()}};
  if (keeps_dimensions) output.shape.insert(output.shape.begin(), rank - 1, 1);
  return std::unique_ptr<const Layer>(new GlobalPoolingLayer(
      config.base(), std::move(output), is_maximum ? Kind::kMaximum : Kind::kAverage));
}

}  // namespace cairn::nn
