#ifndef CAIRN_NN_LAYERS_GAUSSIAN_NOISE_H_
#define CAIRN_NN_LAYERS_GAUSSIAN_NOISE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// GaussianNoise and GaussianDropout. During training a draw n from a normal distribution with mean
// 0 and stddev() is added to each element (GaussianNoise), or the element is multiplied by 1 + n
// (GaussianDropout).
class GaussianNoiseLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  double stddev() const { return stddev_; }
  bool multiplies() const { return multiplies_; }
  // In inference the layer is the identity.
  bool is_view() const override { return inference_only(); }
  bool passes_mask() const override { return true; }

 private:
  GaussianNoiseLayer(Base base, TensorSpec output, double stddev, bool multiplies)
      : Layer(std::move(base), std::move(output), {}), stddev_(stddev), multiplies_(multiplies) {}

  const double stddev_;
  const bool multiplies_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_GAUSSIAN_NOISE_H_
