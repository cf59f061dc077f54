#ifndef CAIRN_NN_LAYERS_SEPARABLE_CONV2D_H_
#define CAIRN_NN_LAYERS_SEPARABLE_CONV2D_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/layers/window.h"

namespace cairn::nn {

// SeparableConv2D and SeparableConv1D (Chollet 2017, https://arxiv.org/abs/1610.02357): a depthwise
// convolution, a pointwise (1 x 1) convolution, then bias and activation.
class SeparableConv2DLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Activation activation() const override { return activation_; }
  // The shapes of one image: (height, width, channels). between_image() is the output of the
  // depthwise convolution.
  Shape input_image() const { return ImageOf(inputs()[0].shape); }
  Shape between_image() const {
    return {window_.output[0], window_.output[1], input_image()[2] * multiplier_};
  }
  Shape output_image() const { return ImageOf(output().shape); }
  // The window of the depthwise convolution.
  const Window& window() const { return window_; }
  // Variables: the depthwise kernel (height, width, channels, multiplier), the pointwise kernel (1,
  // 1, channels * multiplier, filters), and the bias if used.
  bool use_bias() const { return variables().size() > 2; }

 private:
  SeparableConv2DLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                       const Window& window, int64_t multiplier, const Activation& activation)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        window_(window),
        multiplier_(multiplier),
        activation_(activation) {}

  const Window window_;
  const int64_t multiplier_;
  const Activation activation_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_SEPARABLE_CONV2D_H_
