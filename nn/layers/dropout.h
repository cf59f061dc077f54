#ifndef CAIRN_NN_LAYERS_DROPOUT_H_
#define CAIRN_NN_LAYERS_DROPOUT_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// In training each element is dropped with probability `rate`, and the others are scaled by
// 1 / (1 - rate).
class DropoutLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  double rate() const { return rate_; }

 private:
  DropoutLayer(Base base, TensorSpec output, double rate)
      : Layer(std::move(base), std::move(output), {}), rate_(rate) {}

  const double rate_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_DROPOUT_H_
