#include "worker/data/images/resize_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace cairn::worker {
namespace {

// How an axis is resized: the pixels [start, start + extent) become the `output` pixels of the
// target that begin at `place`.
struct Axis {
  int64_t start = 0;
  int64_t extent = 0;
  int64_t output = 0;
  int64_t place = 0;
};
// Height and width.
using Axes = std::array<Axis, 2>;
using Sizes = std::array<int64_t, 2>;

// Keras's smart_resize.
Axes CropAxes(const Sizes& image, const Sizes& target) {
  Axes axes;
  for (int i = 0; i < 2; ++i) {
    const float wanted =
        static_cast<float>(image[1 - i] * target[i]) / static_cast<float>(target[1 - i]);
    const int64_t extent = std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, image[i]);
    axes[i] = {.start = (image[i] - extent) / 2, .extent = extent, .output = target[i]};
  }
  return axes;
}

// TensorFlow's resize_with_pad.
Axes PadAxes(const Sizes& image, const Sizes& target) {
  std::array<float, 2> sides;
  std::array<float, 2> targets;
  for (int i = 0; i < 2; ++i) {
    sides[i] = static_cast<float>(image[i]);
    targets[i] = static_cast<float>(target[i]);
  }
  const float ratio = std::max(sides[0] / targets[0], sides[1] / targets[1]);
  Axes axes;
  for (int i = 0; i < 2; ++i) {
    const float resized = sides[i] / ratio;
    axes[i].extent = image[i];
    axes[i].output = std::clamp<int64_t>(static_cast<int64_t>(resized), 1, target[i]);
    axes[i].place = std::max<int64_t>(0, static_cast<int64_t>((targets[i] - resized) / 2));
    axes[i].place = std::min(axes[i].place, target[i] - axes[i].output);
  }
  return axes;
}

Axes AxesOf(const Image& image, const ImageTarget& target) {
  const Sizes from = {image.height, image.width};
  const Sizes to = {target.height, target.width};
  if (target.aspect == ImageTarget::Aspect::kCrop) return CropAxes(from, to);
  if (target.aspect == ImageTarget::Aspect::kPad) return PadAxes(from, to);
  return {Axis{.extent = from[0], .output = to[0]}, Axis{.extent = from[1], .output = to[1]}};
}

// The two pixels of an axis that an output pixel is between, and the weight of the second.
struct Tap {
  int64_t low = 0;
  int64_t high = 0;
  float weight = 0;
};

std::vector<Tap> TapsOf(const Axis& axis, bool is_nearest) {
  const float scale = static_cast<float>(axis.extent) / static_cast<float>(axis.output);
  const int64_t last = axis.extent - 1;
  std::vector<Tap> taps(axis.output);
  for (int64_t i = 0; i < axis.output; ++i) {
    Tap& tap = taps[i];
    const float center = (static_cast<float>(i) + 0.5f) * scale;
    if (is_nearest) {
      tap.low = tap.high = std::clamp<int64_t>(static_cast<int64_t>(center), 0, last);
    } else {
      const float at = center - 0.5f;
      const float below = std::floor(at);
      tap.low = std::clamp<int64_t>(static_cast<int64_t>(below), 0, last);
      tap.high = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(at)), 0, last);
      tap.weight = at - below;
    }
    tap.low += axis.start;
    tap.high += axis.start;
  }
  return taps;
}

// Writes a row of bytes.
void CopyRow(const Image& image, int64_t row, const std::vector<Tap>& columns, char* out) {
  const char* const pixels = image.pixels.data() + row * image.width * image.channels;
  for (const Tap& column : columns) {
    for (int c = 0; c < image.channels; ++c) *out++ = pixels[column.low * image.channels + c];
  }
}

// Writes a row of floats.
void InterpolateRow(const Image& image, const Tap& row, const std::vector<Tap>& columns,
                    float* out) {
  const auto* const pixels = reinterpret_cast<const unsigned char*>(image.pixels.data());
  const unsigned char* const low = pixels + row.low * image.width * image.channels;
  const unsigned char* const high = pixels + row.high * image.width * image.channels;
  for (const Tap& column : columns) {
    const int64_t left = column.low * image.channels;
    const int64_t right = column.high * image.channels;
    const auto between = [&](const unsigned char* line, int c) {
      const float from = line[left + c];
      return from + (static_cast<float>(line[right + c]) - from) * column.weight;
    };
    for (int c = 0; c < image.channels; ++c) {
      const float top = between(low, c);
      *out++ = top + (between(high, c) - top) * row.weight;
    }
  }
}

}  // namespace

ResizedImage ResizeImage(const Image& image, const ImageTarget& target) {
  const Axes axes = AxesOf(image, target);
  const bool stays = axes[0].extent == axes[0].output && axes[1].extent == axes[1].output;
  ResizedImage resized;
  resized.is_float = !stays && !target.is_nearest;
  const std::vector<Tap> rows = TapsOf(axes[0], !resized.is_float);
  const std::vector<Tap> columns = TapsOf(axes[1], !resized.is_float);
  const int64_t element = resized.is_float ? sizeof(float) : 1;
  resized.data.assign(target.elements() * element, '\0');
  for (int64_t i = 0; i < axes[0].output; ++i) {
    const int64_t pixel = (axes[0].place + i) * target.width + axes[1].place;
    char* const at = resized.data.data() + pixel * target.channels * element;
    if (resized.is_float) {
      InterpolateRow(image, rows[i], columns, reinterpret_cast<float*>(at));
    } else {
      CopyRow(image, rows[i].low, columns, at);
    }
  }
  return resized;
}

}  // namespace cairn::worker
