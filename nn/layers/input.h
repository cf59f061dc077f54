#ifndef CAIRN_NN_LAYERS_INPUT_H_
#define CAIRN_NN_LAYERS_INPUT_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// InputLayer: an input of the model. It has no inputs, variables or kernel.
class InputLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

 private:
  InputLayer(Base base, TensorSpec output) : Layer(std::move(base), std::move(output), {}) {}
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_INPUT_H_
