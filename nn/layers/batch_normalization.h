#ifndef CAIRN_NN_LAYERS_BATCH_NORMALIZATION_H_
#define CAIRN_NN_LAYERS_BATCH_NORMALIZATION_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// (input - mean) / sqrt(variance + epsilon) * gamma + beta, each per channel (the last axis): in
// training with the batch's statistics, which also feed the moving ones; else, and always if the
// layer is frozen, with the moving ones. The variance is the biased one. Kernels write the gradient
// by the input in place of that by the output where they are given one place for both.
class BatchNormalizationLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // Positions in variables(); -1 if the layer lacks it.
  int gamma() const { return scales_ ? 0 : -1; }
  int beta() const { return centers_ ? (scales_ ? 1 : 0) : -1; }
  int moving_mean() const { return static_cast<int>(variables().size()) - 2; }
  int moving_variance() const { return static_cast<int>(variables().size()) - 1; }
  // In training; else always the moving ones.
  bool uses_batch_statistics() const { return trainable() && !infers(); }
  double epsilon() const { return epsilon_; }
  bool passes_mask() const override { return true; }

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
