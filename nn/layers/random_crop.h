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

// In training a part of each image, anywhere in it. In inference, and of images that are smaller
// than the part, the middle, resized.
class RandomCropLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // What is done in inference.
  Resize middle() const;
  // True if the image has room for the part, so that training crops.
  bool crops() const;
  // Where an image's part begins along an axis: a pure function of the layer's key in the batch.
  int64_t Start(uint64_t key, int64_t example, int axis) const;

 private:
  RandomCropLayer(Base base, TensorSpec output) : Layer(std::move(base), std::move(output), {}) {}
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RANDOM_CROP_H_
