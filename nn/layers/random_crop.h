#ifndef CAIRN_NN_LAYERS_RANDOM_CROP_H_
#define CAIRN_NN_LAYERS_RANDOM_CROP_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/random.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/layers/resize.h"

namespace cairn::nn {

// RandomCrop: during training, crops each image at a random position. In inference, and for images
// smaller than the crop, it crops the center and resizes it.
class RandomCropLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // The center crop used in inference.
  Resize middle() const;
  // True if the image is large enough for training to crop at random positions.
  bool crops() const;
  // The first row (axis 0) or column (axis 1) of an example's crop. A pure function of the layer's
  // key in the batch.
  int64_t Start(uint64_t key, int64_t example, int axis) const;

 private:
  RandomCropLayer(Base base, TensorSpec output) : Layer(std::move(base), std::move(output), {}) {}
};

// Inline: the GPU library uses them, and must not link what reads configurations.
inline Resize RandomCropLayer::middle() const {
  return ResizeOfMiddle(inputs()[0].shape, {output().shape[0], output().shape[1]});
}

inline bool RandomCropLayer::crops() const {
  const Shape& image = inputs()[0].shape;
  return !inference_only() && image[0] >= output().shape[0] && image[1] >= output().shape[1];
}

inline int64_t RandomCropLayer::Start(uint64_t key, int64_t example, int axis) const {
  const int64_t room = inputs()[0].shape[axis] - output().shape[axis];
  return static_cast<int64_t>(RandomBelow(key, 2 * example + axis, room + 1));
}

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RANDOM_CROP_H_
