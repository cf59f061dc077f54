#ifndef CAIRN_NN_LAYERS_RESIZE_METHOD_H_
#define CAIRN_NN_LAYERS_RESIZE_METHOD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/layers/resize.h"

namespace cairn::nn {

// How pixels are interpolated when an image is resized, as Keras's `interpolation`: by
// tf.image.resize without antialiasing.
enum class ResizeMethod {
  kBilinear,
  kNearest,
  kBicubic,
  kArea,
  kLanczos3,
  kLanczos5,
  kGaussian,
  kMitchellCubic,
};

// "bilinear", "nearest" ..., in the order of the values.
std::vector<std::string> ResizeMethodNames();
const char* NameOf(ResizeMethod method);
// nullopt: there is no such method.
std::optional<ResizeMethod> ResizeMethodNamed(std::string_view name);

// Whether an image that has the target's size already stays as it is.
bool KeepsImages(ResizeMethod method);

// The input pixels of an axis that an output pixel is the weighted sum of.
struct ResizeSpan {
  int64_t first = 0;
  std::vector<float> weights;  // Of the pixels from `first` on; not empty.
};

// One for each output pixel, within the axis's extent. Not for kBilinear and kNearest, which have
// two pixels and one. Computed in TensorFlow's float32 arithmetic: kBicubic as ResizeBicubic with
// half_pixel_centers, kArea as ResizeArea, the others as ScaleAndTranslate.
std::vector<ResizeSpan> ResizeSpans(ResizeMethod method, const ResizedAxis& axis);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RESIZE_METHOD_H_
