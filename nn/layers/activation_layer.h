#ifndef CAIRN_NN_LAYERS_ACTIVATION_LAYER_H_
#define CAIRN_NN_LAYERS_ACTIVATION_LAYER_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Activation, ReLU, LeakyReLU, ELU and Softmax: an elementwise function; softmax works along the
// last axis.
class ActivationLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Activation activation() const override { return activation_; }
  bool passes_mask() const override { return true; }

 private:
  ActivationLayer(Base base, TensorSpec output, const Activation& activation)
      : Layer(std::move(base), std::move(output), {}), activation_(activation) {}

  const Activation activation_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_ACTIVATION_LAYER_H_
