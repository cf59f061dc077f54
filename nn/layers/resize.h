#ifndef CAIRN_NN_LAYERS_RESIZE_H_
#define CAIRN_NN_LAYERS_RESIZE_H_

#include <array>
#include <cstdint>

#include "nn/tensor.h"

namespace cairn::nn {

// One axis of an image that is resized: its [start, start + extent) becomes `output` pixels, whose
// centres lie where TensorFlow's half_pixel_centers puts them.
struct ResizedAxis {
  int64_t input = 1;
  int64_t start = 0;
  int64_t extent = 1;
  int64_t output = 1;
};
struct Resize {
  bool nearest = false;
  // Height and width.
  std::array<ResizedAxis, 2> axes;
};

// The largest part in the middle of an image (height, width, channels) that has the target's
// proportions, as Keras's smart_resize cuts it, resized to the target.
// Sides are at most 2^20.
Resize ResizeOfMiddle(const Shape& image, std::array<int64_t, 2> target);

// The whole image, resized.
Resize ResizeOfAll(const Shape& image, std::array<int64_t, 2> target);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RESIZE_H_
