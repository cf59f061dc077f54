#ifndef CAIRN_NN_LAYERS_CONV2D_H_
#define CAIRN_NN_LAYERS_CONV2D_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/layers/window.h"

namespace cairn::nn {

// Conv2D, Conv1D, DepthwiseConv2D and DepthwiseConv1D: output = activation(conv(input, kernel) +
// bias). All are grouped 2D convolutions: a 1D input (steps, channels) is an image of one row, and
// a depthwise convolution has one group per channel. Their kernels have the same memory layout.
class Conv2DLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Activation activation() const override { return activation_; }
  // The shape of one image: (height, width, channels).
  Shape input_image() const { return ImageOf(inputs()[0].shape); }
  Shape output_image() const { return ImageOf(output().shape); }
  const Window& window() const { return window_; }
  int64_t groups() const { return groups_; }
  // The first variable is the kernel: (height, width, input channels / groups, filters), with the
  // filters group by group, in the shape that Keras gives it. If use_bias(), the second variable is
  // the bias.
  bool use_bias() const { return variables().size() > 1; }

 private:
  struct Geometry {
    Window window;
    int64_t groups = 1;
    Activation activation;
  };
  Conv2DLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
              const Geometry& geometry)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        window_(geometry.window),
        groups_(geometry.groups),
        activation_(geometry.activation) {}

  const Window window_;
  const int64_t groups_;
  const Activation activation_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_CONV2D_H_
