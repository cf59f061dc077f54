#ifndef CAIRN_NN_LAYERS_BATCH_NORMALIZATION_H_
#define CAIRN_NN_LAYERS_BATCH_NORMALIZATION_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Batch normalization (Ioffe & Szegedy 2015): (input - mean) / sqrt(variance + epsilon) * gamma +
// beta, per channel (the last axis). Training uses the batch's mean and biased variance, which also
// update the moving statistics. Inference, and any pass of a frozen layer, uses the moving
// statistics. Input and output gradients may share a buffer.
class BatchNormalizationLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // Indices into variables(); -1 if the layer has no such variable.
  int gamma() const { return scales_ ? 0 : -1; }
  int beta() const { return centers_ ? (scales_ ? 1 : 0) : -1; }
  int moving_mean() const { return static_cast<int>(variables().size()) - 2; }
  int moving_variance() const { return static_cast<int>(variables().size()) - 1; }
  // True if training uses the batch's statistics, false if it uses the moving ones.
  bool uses_batch_statistics() const { return trainable() && !inference_only(); }
  double epsilon() const { return epsilon_; }
  bool passes_mask() const override { return true; }
  // In training Keras leaves masked steps out of the statistics.
  bool refuses_mask() const override { return trainable() && !inference_only(); }

 private:
  struct Arguments {
    bool centers = true;
    bool scales = true;
    double epsilon = 0;
  };
  BatchNormalizationLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                          const Arguments& arguments)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        centers_(arguments.centers),
        scales_(arguments.scales),
        epsilon_(arguments.epsilon) {}

  const bool centers_;
  const bool scales_;
  const double epsilon_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_BATCH_NORMALIZATION_H_
