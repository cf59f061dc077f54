#ifndef CAIRN_NN_LAYERS_LAYER_NORMALIZATION_H_
#define CAIRN_NN_LAYERS_LAYER_NORMALIZATION_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Layer normalization (Ba et al. 2016): (input - mean) / sqrt(variance + epsilon) * gamma + beta,
// with mean and biased variance over the last axis or the last few axes. gamma and beta have the
// shape of these axes.
class LayerNormalizationLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // Indices into variables(); -1 if the layer has no such variable.
  int gamma() const { return scales_ ? 0 : -1; }
  int beta() const { return centers_ ? (scales_ ? 1 : 0) : -1; }
  // The number of elements that are normalized together.
  int64_t width() const { return width_; }
  double epsilon() const { return epsilon_; }
  bool passes_mask() const override { return true; }

 private:
  struct Arguments {
    bool centers = true;
    bool scales = true;
    int64_t width = 1;
    double epsilon = 0;
  };
  LayerNormalizationLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                          const Arguments& arguments)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        centers_(arguments.centers),
        scales_(arguments.scales),
        width_(arguments.width),
        epsilon_(arguments.epsilon) {}

  const bool centers_;
  const bool scales_;
  const int64_t width_;
  const double epsilon_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_LAYER_NORMALIZATION_H_
