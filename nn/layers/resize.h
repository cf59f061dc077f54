#ifndef CAIRN_NN_LAYERS_RESIZE_H_
#define CAIRN_NN_LAYERS_RESIZE_H_

#include <array>
#include <cstdint>

#include "nn/tensor.h"

namespace cairn::nn {

// How one axis of an image is resized: the pixels [start, start + extent) become `output` pixels.
// Pixel centers are those of TensorFlow's half_pixel_centers.
struct ResizedAxis {
  int64_t input = 1;
  int64_t start = 0;
  int64_t extent = 1;
  int64_t output = 1;
};
// How an image is resized: bilinear or nearest-neighbor interpolation.
struct Resize {
  bool nearest = false;
  // Height and width.
  std::array<ResizedAxis, 2> axes;
};

// Center crop: the largest centered part of an image (height, width, channels) with the target's
// aspect ratio, as in Keras's smart_resize, resized to the target. Sides must be at most 2^20.
Resize ResizeOfMiddle(const Shape& image, std::array<int64_t, 2> target);

// Resizes the whole image.
Resize ResizeOfAll(const Shape& image, std::array<int64_t, 2> target);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RESIZE_H_
