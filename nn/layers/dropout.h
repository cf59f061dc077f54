#ifndef CAIRN_NN_LAYERS_DROPOUT_H_
#define CAIRN_NN_LAYERS_DROPOUT_H_

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/tensor.h"

namespace cairn::nn {

// Dropout (Srivastava et al. 2014), AlphaDropout, and SpatialDropout in 1D, 2D and 3D. During
// training each element (spatial: each channel of an example) is set to zero with probability
// `rate`, and the others are scaled by 1 / (1 - rate).
class DropoutLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  double rate() const { return rate_; }
  // True if all positions of a channel share one draw.
  bool is_spatial() const { return is_spatial_; }
  // AlphaDropout (Klambauer et al. 2017): a dropped element becomes alpha_low() instead of zero,
  // and all are multiplied by alpha_scale() and shifted, so that mean and variance stay.
  bool is_alpha() const { return is_alpha_; }
  static constexpr double alpha_low() { return -1.6732632423543772 * 1.0507009873554805; }
  double alpha_scale() const {
    return 1 / std::sqrt((1 - rate_) * (1 + rate_ * alpha_low() * alpha_low()));
  }
  // The index of the random draw that decides about an element of the batch.
  int64_t DrawOf(int64_t element) const {
    if (!is_spatial_) return element;
    const int64_t channels = output().shape.back();
    return element / ElementCount(output().shape) * channels + element % channels;
  }
  // In inference the layer is the identity.
  bool is_view() const override { return inference_only(); }
  bool passes_mask() const override { return true; }

 private:
  DropoutLayer(Base base, TensorSpec output, double rate, bool is_spatial, bool is_alpha)
      : Layer(std::move(base), std::move(output), {}),
        rate_(rate),
        is_spatial_(is_spatial),
        is_alpha_(is_alpha) {}

  const double rate_;
  const bool is_spatial_;
  const bool is_alpha_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_DROPOUT_H_
