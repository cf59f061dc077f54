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

// Layers that normalize each example by itself. An example is an array (rows, positions, groups,
// width). The elements of one row and group are normalized together, x -> y * gamma + beta. gamma
// and beta have groups * width elements.
//
//   LayerNormalization (Ba et al. 2016):    y = (x - mean) / sqrt(variance + epsilon), over the
//   last
//                                           axis or the last few axes
//   GroupNormalization (Wu & He 2018):      the same, over the positions and 1/groups of the
//   channels RMSNormalization (Zhang & Sennrich 2019): y = x / sqrt(mean(x^2) + epsilon), over the
//   last axes UnitNormalization:                      y = x / sqrt(max(sum(x^2), epsilon)), over
//   adjacent axes
class LayerNormalizationLayer : public Layer {
 public:
  enum class Kind { kMoments, kRootMeanSquare, kUnit };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);
  static absl::StatusOr<std::unique_ptr<const Layer>> CreateGroup(LayerConfig& config);
  static absl::StatusOr<std::unique_ptr<const Layer>> CreateRms(LayerConfig& config);
  static absl::StatusOr<std::unique_ptr<const Layer>> CreateUnit(LayerConfig& config);

  Kind kind() const { return arguments_.kind; }
  // Indices into variables(); -1 if the layer has no such variable.
  int gamma() const { return arguments_.scales ? 0 : -1; }
  int beta() const { return arguments_.centers ? (arguments_.scales ? 1 : 0) : -1; }
  int64_t positions() const { return arguments_.positions; }
  int64_t groups() const { return arguments_.groups; }
  // The number of adjacent elements that are normalized together.
  int64_t width() const { return arguments_.width; }
  double epsilon() const { return arguments_.epsilon; }
  // Keras's RMSNormalization drops masks.
  bool passes_mask() const override { return kind() != Kind::kRootMeanSquare; }

 private:
  struct Arguments {
    Kind kind = Kind::kMoments;
    bool centers = false;
    bool scales = false;
    int64_t positions = 1;
    int64_t groups = 1;
    int64_t width = 1;
    double epsilon = 0;
  };
  // Reads the arguments of gamma and beta, which have the shape `shape`.
  static absl::StatusOr<std::unique_ptr<const Layer>> CreateScaled(const Shape& shape,
                                                                   Arguments arguments,
                                                                   LayerConfig& config);
  static absl::StatusOr<std::unique_ptr<const Layer>> Finish(const Arguments& arguments,
                                                             std::vector<LayerVariable> variables,
                                                             LayerConfig& config);
  LayerNormalizationLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                          const Arguments& arguments)
      : Layer(std::move(base), std::move(output), std::move(variables)), arguments_(arguments) {}

  const Arguments arguments_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_LAYER_NORMALIZATION_H_
