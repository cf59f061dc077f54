#ifndef CAIRN_NN_LAYERS_CONV3D_H_
#define CAIRN_NN_LAYERS_CONV3D_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/layers/window.h"

namespace cairn::nn {

// Conv3D: output = activation(conv(input, kernel) + bias) over volumes (depth, height, width,
// channels). Conv3DTranspose has the transposed map: that of the gradient of a convolution with
// respect to its input.
class Conv3DLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);
  static absl::StatusOr<std::unique_ptr<const Layer>> CreateTransposed(LayerConfig& config);

  Activation activation() const override { return activation_; }
  // The window of the convolution. If is_transposed(), that is the one from this layer's output to
  // its input.
  const VolumeWindow& window() const { return window_; }
  bool is_transposed() const { return class_name() == "Conv3DTranspose"; }
  // The first variable is the kernel: (depth, height, width, input channels, filters), or with
  // filters before input channels if is_transposed(). If use_bias(), the second one is the bias.
  bool use_bias() const { return variables().size() > 1; }

 private:
  Conv3DLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
              const VolumeWindow& window, const Activation& activation)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        window_(window),
        activation_(activation) {}

  const VolumeWindow window_;
  const Activation activation_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_CONV3D_H_
