#include "nn/layers/random_crop.h"

#include <optional>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> RandomCropLayer::Create(LayerConfig& config) {
  constexpr int64_t kSideMax = int64_t{1} << 20;
  const Shape& image = config.ImageInput(3).shape;
  const int64_t height = config.Int("height", std::nullopt, 1, kSideMax);
  const int64_t width = config.Int("width", std::nullopt, 1, kSideMax);
  config.ExpectChannelsLast();
  config.Ignore({"seed"});  // Draws depend on the job's seed.
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new RandomCropLayer(config.base(), {.shape = {height, width, image[2]}}));
}

}  // namespace cairn::nn
