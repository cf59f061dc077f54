#include "nn/layers/random_crop.h"

#include <optional>

#include "common/random.h"
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

Resize RandomCropLayer::middle() const {
  return ResizeOfMiddle(inputs()[0].shape, {output().shape[0], output().shape[1]});
}

bool RandomCropLayer::crops() const {
  const Shape& image = inputs()[0].shape;
  return !inference_only() && image[0] >= output().shape[0] && image[1] >= output().shape[1];
}

int64_t RandomCropLayer::Start(uint64_t key, int64_t example, int axis) const {
  const int64_t room = inputs()[0].shape[axis] - output().shape[axis];
  return static_cast<int64_t>(RandomBelow(key, 2 * example + axis, room + 1));
}

}  // namespace cairn::nn
