#ifndef CAIRN_NN_LAYERS_REARRANGING_H_
#define CAIRN_NN_LAYERS_REARRANGING_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/layers/axis_mapping.h"

namespace cairn::nn {

// ZeroPadding and Cropping in 1D, 2D and 3D, UpSampling3D, Permute and RepeatVector. Each element
// of the output is an element of the input or zero.
class RearrangingLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // One mapping per axis of the output; of UpSampling3D an axis has two, the input's and a
  // repetition.
  const std::vector<AxisMapping>& mappings() const { return mappings_; }

 private:
  RearrangingLayer(Base base, TensorSpec output, std::vector<AxisMapping> mappings)
      : Layer(std::move(base), std::move(output), {}), mappings_(std::move(mappings)) {}

  const std::vector<AxisMapping> mappings_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_REARRANGING_H_
