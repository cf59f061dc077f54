#include "nn/layers/random_flip.h"

#include <string>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> RandomFlipLayer::Create(LayerConfig& config) {
  TensorSpec output{.shape = config.ImageInput(3).shape};
  const std::string mode =
      config.Choice("mode", {"horizontal_and_vertical", "horizontal", "vertical"});
  config.ExpectChannelsLast();
  config.Ignore({"seed"});  // Draws depend on the job's seed.
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new RandomFlipLayer(
      config.base(), std::move(output), mode != "horizontal", mode != "vertical"));
}

}  // namespace cairn::nn
