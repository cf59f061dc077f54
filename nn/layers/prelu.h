#ifndef CAIRN_NN_LAYERS_PRELU_H_
#define CAIRN_NN_LAYERS_PRELU_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// PReLU (He et al. 2015): x if x > 0, else alpha * x. alpha is a variable with the input's shape,
// of length 1 along shared axes.
class PReLULayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  bool passes_mask() const override { return true; }

 private:
  PReLULayer(Base base, TensorSpec output, std::vector<LayerVariable> variables)
      : Layer(std::move(base), std::move(output), std::move(variables)) {}
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_PRELU_H_
