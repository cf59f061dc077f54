#ifndef CAIRN_NN_LAYERS_RESIZING_H_
#define CAIRN_NN_LAYERS_RESIZING_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/layers/resize.h"

namespace cairn::nn {

// UpSampling2D, UpSampling1D and Resizing: resize images by bilinear or nearest-neighbor
// interpolation.
class ResizingLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  const Resize& resize() const { return resize_; }

 private:
  ResizingLayer(Base base, TensorSpec output, const Resize& resize)
      : Layer(std::move(base), std::move(output), {}), resize_(resize) {}

  const Resize resize_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RESIZING_H_
