#ifndef CAIRN_NN_LAYERS_CONV2D_TRANSPOSE_H_
#define CAIRN_NN_LAYERS_CONV2D_TRANSPOSE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/layers/window.h"

namespace cairn::nn {

// Conv2DTranspose and Conv1DTranspose (transposed convolution, also called deconvolution): output =
// activation(g + bias), where g is the input gradient of the convolution whose output gradient is
// this layer's input. The output's size follows Keras's `deconv_output_length`.
class Conv2DTransposeLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Activation activation() const override { return activation_; }
  // The shape of one image: (height, width, channels).
  Shape input_image() const { return ImageOf(inputs()[0].shape); }
  Shape output_image() const { return ImageOf(output().shape); }
  // The window of the convolution from this layer's output to its input.
  const Window& window() const { return window_; }
  // The first variable is the kernel: (height, width, filters, input channels). If use_bias(), the
  // second variable is the bias.
  bool use_bias() const { return variables().size() > 1; }

 private:
  Conv2DTransposeLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                       const Window& window, const Activation& activation)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        window_(window),
        activation_(activation) {}

  const Window window_;
  const Activation activation_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_CONV2D_TRANSPOSE_H_
