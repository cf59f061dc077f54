#ifndef CAIRN_NN_LAYERS_DENSE_H_
#define CAIRN_NN_LAYERS_DENSE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Dense: output = activation(input kernel + bias), along the last axis.
class DenseLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Activation activation() const override { return activation_; }
  int64_t input_width() const { return inputs()[0].shape.back(); }
  int64_t units() const { return output().shape.back(); }
  // If true, the second variable is the bias. The first is the kernel: (input width, units).
  bool use_bias() const { return variables().size() > 1; }
  bool passes_mask() const override { return true; }

 private:
  DenseLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
             Activation activation)
      : Layer(std::move(base), std::move(output), std::move(variables)), activation_(activation) {}

  const Activation activation_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_DENSE_H_
