#ifndef CAIRN_NN_LAYERS_GLOBAL_POOLING_H_
#define CAIRN_NN_LAYERS_GLOBAL_POOLING_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// GlobalAveragePooling and GlobalMaxPooling in 1D, 2D and 3D: the mean or maximum over all
// positions, per channel. The mean skips masked positions.
class GlobalPoolingLayer : public Layer {
 public:
  enum class Kind { kMaximum, kAverage };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Kind kind() const { return kind_; }
  bool uses_mask() const override { return kind_ == Kind::kAverage; }

 private:
  GlobalPoolingLayer(Base base, TensorSpec output, Kind kind)
      : Layer(std::move(base), std::move(output), {}), kind_(kind) {}

  const Kind kind_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_GLOBAL_POOLING_H_
