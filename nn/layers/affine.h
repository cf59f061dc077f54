#ifndef CAIRN_NN_LAYERS_AFFINE_H_
#define CAIRN_NN_LAYERS_AFFINE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Rescaling and Normalization: output = input * scale + offset, with one scale and offset for all
// elements or one per channel (the last axis). Normalization derives them from means and variances,
// which are arguments or, if the layer was adapted to data, frozen variables.
class AffineLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // True if scale and offset are computed from the variables mean and variance, which are the first
  // two.
  bool has_variables() const { return !variables().empty(); }
  // The coefficients if there are no variables: one for all elements or one per channel.
  const std::vector<double>& scales() const { return coefficients_.scales; }
  const std::vector<double>& offsets() const { return coefficients_.offsets; }
  // Normalization's scale for a variance: 1 / max(sqrt(variance), 1e-7).
  static double ScaleOf(double variance);

 private:
  struct Coefficients {
    std::vector<double> scales;
    std::vector<double> offsets;
  };
  static Coefficients ReadRescaling(int64_t channels, LayerConfig& config);
  static Coefficients ReadNormalization(int64_t channels, LayerConfig& config,
                                        std::vector<LayerVariable>* variables);
  AffineLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
              Coefficients coefficients)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        coefficients_(std::move(coefficients)) {}

  const Coefficients coefficients_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_AFFINE_H_
