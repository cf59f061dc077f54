#ifndef CAIRN_NN_LAYERS_GLOBAL_AVERAGE_POOLING2D_H_
#define CAIRN_NN_LAYERS_GLOBAL_AVERAGE_POOLING2D_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// The mean over height and width.
class GlobalAveragePooling2DLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

 private:
  GlobalAveragePooling2DLayer(Base base, TensorSpec output)
      : Layer(std::move(base), std::move(output), {}) {}
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_GLOBAL_AVERAGE_POOLING2D_H_
