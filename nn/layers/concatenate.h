#ifndef CAIRN_NN_LAYERS_CONCATENATE_H_
#define CAIRN_NN_LAYERS_CONCATENATE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Concatenate: joins the inputs along an axis.
class ConcatenateLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // The axis, as an index into an example's shape.
  int64_t axis() const { return axis_; }
  // Axis 0 is that of the steps.
  MaskMerge mask_merge() const override {
    return axis_ == 0 ? MaskMerge::kJoin : MaskMerge::kUnion;
  }

 private:
  ConcatenateLayer(Base base, TensorSpec output, int64_t axis)
      : Layer(std::move(base), std::move(output), {}), axis_(axis) {}

  const int64_t axis_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_CONCATENATE_H_
