#include "nn/layers/resize.h"

#include <algorithm>

namespace cairn::nn {

Resize ResizeOfAll(const Shape& image, std::array<int64_t, 2> target) {
  Resize resize;
  for (int axis = 0; axis < 2; ++axis) {
    resize.axes[axis] = {.input = image[axis], .extent = image[axis], .output = target[axis]};
  }
  return resize;
}

Resize ResizeOfMiddle(const Shape& image, std::array<int64_t, 2> target) {
  Resize resize = ResizeOfAll(image, target);
  for (int axis = 0; axis < 2; ++axis) {
    // Keras rounds down to whole pixels.
    const double wanted = static_cast<double>(image[1 - axis]) * static_cast<double>(target[axis]) /
                          static_cast<double>(target[1 - axis]);
    const double extent = std::min(wanted, static_cast<double>(image[axis]));
    resize.axes[axis].extent = std::max<int64_t>(static_cast<int64_t>(extent), 1);
    resize.axes[axis].start = (image[axis] - resize.axes[axis].extent) / 2;
  }
  return resize;
}

}  // namespace cairn::nn
