#ifndef CAIRN_NN_LAYERS_ADD_H_
#define CAIRN_NN_LAYERS_ADD_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// The sum of two or more inputs of the same shape.
class AddLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

 private:
  AddLayer(Base base, TensorSpec output) : Layer(std::move(base), std::move(output), {}) {}
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_ADD_H_
