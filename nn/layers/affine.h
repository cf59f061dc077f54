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

// Rescaling and Normalization: input * scale + offset, one scale and offset for all or for each
// channel (the last axis). Normalization computes them from means and variances, which are
// arguments or, if the layer was adapted to data, frozen variables.
class AffineLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // True: scale and offset follow from the variables mean and variance (the first two).
  bool has_variables() const { return !variables().empty(); }
  // Else: of 1 or as many elements as the input has channels.
  const std::vector<double>& scales() const { return coefficients_.scales; }
  const std::vector<double>& offsets() const { return coefficients_.offsets; }
  // Normalization's, for a mean and a variance.
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
