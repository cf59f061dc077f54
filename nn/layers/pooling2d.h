#ifndef CAIRN_NN_LAYERS_POOLING2D_H_
#define CAIRN_NN_LAYERS_POOLING2D_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/layers/window.h"

namespace cairn::nn {

// MaxPooling2D, AveragePooling2D and their 1D and 3D forms. Padding is excluded from maximum and
// average.
class Pooling2DLayer : public Layer {
 public:
  enum class Kind { kMaximum, kAverage };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Kind kind() const { return kind_; }
  // The shape of one image: (height, width, channels), in 3D with the depth first.
  Shape input_image() const { return ImageOf(inputs()[0].shape); }
  Shape output_image() const { return ImageOf(output().shape); }
  // The window over an image, or over each plane in 3D.
  const Window& window() const { return window_.plane; }
  // In 3D the window along the depth, in the entries of height.
  const Window* depth() const { return output().shape.size() == 4 ? &window_.depth : nullptr; }
  // The gradient of an average is divided by the size of the whole window, padding included, not by
  // the number of averaged elements. TensorFlow.js computes this.
  bool has_gradient_of_tfjs() const { return has_gradient_of_tfjs_; }

 private:
  Pooling2DLayer(Base base, TensorSpec output, Kind kind, const VolumeWindow& window,
                 bool has_gradient_of_tfjs)
      : Layer(std::move(base), std::move(output), {}),
        kind_(kind),
        window_(window),
        has_gradient_of_tfjs_(has_gradient_of_tfjs) {}

  const Kind kind_;
  const VolumeWindow window_;
  const bool has_gradient_of_tfjs_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_POOLING2D_H_
