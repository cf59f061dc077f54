#include "nn/layers/masking.h"

#include <limits>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> MaskingLayer::Create(LayerConfig& config) {
  TensorSpec output = config.FloatInput(2, 2);
  constexpr double kLargest = std::numeric_limits<float>::max();
  const double mask_value = config.Number("mask_value", 0, -kLargest, kLargest);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new MaskingLayer(config.base(), std::move(output), static_cast<float>(mask_value)));
}

}  // namespace cairn::nn
