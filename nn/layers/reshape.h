#ifndef CAIRN_NN_LAYERS_RESHAPE_H_
#define CAIRN_NN_LAYERS_RESHAPE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Flatten, Reshape, Identity and ActivityRegularization: the same elements in another shape, or in
// the same one.
class ReshapeLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  bool is_view() const override { return true; }
  bool passes_mask() const override {
    return class_name() == "Identity" || class_name() == "ActivityRegularization";
  }

 private:
  ReshapeLayer(Base base, TensorSpec output) : Layer(std::move(base), std::move(output), {}) {}
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RESHAPE_H_
