#ifndef CAIRN_NN_LAYERS_RANDOM_CROP_H_
#define CAIRN_NN_LAYERS_RANDOM_CROP_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
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

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RANDOM_CROP_H_
