#include "worker/data/images/resize_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace cairn::worker {
namespace {

// How an axis is resized: its output pixels begin at the pixel `place` of the target.
struct Axis : nn::ResizedAxis {
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
    axes[i].start = (image[i] - extent) / 2;
    axes[i].extent = extent;
    axes[i].output = target[i];
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

Axes AxesOf(const Sizes& from, const ImageTarget& target) {
  const Sizes to = {target.height, target.width};
  if (target.aspect == ImageTarget::Aspect::kCrop) return CropAxes(from, to);
  if (target.aspect == ImageTarget::Aspect::kPad) return PadAxes(from, to);
  Axes axes;
  for (int i = 0; i < 2; ++i) {
    axes[i].extent = from[i];
    axes[i].output = to[i];
  }
  return axes;
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

// The pixels of an image of bytes or floats.
template <typename T>
struct Pixels {
  const T* first = nullptr;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  const T* Row(int64_t row) const { return first + row * width * channels; }
};

template <typename T>
void CopyRow(const Pixels<T>& image, int64_t row, const std::vector<Tap>& columns, T* out) {
  const T* const pixels = image.Row(row);
  for (const Tap& column : columns) {
    for (int64_t c = 0; c < image.channels; ++c) *out++ = pixels[column.low * image.channels + c];
  }
}

template <typename T>
void InterpolateRow(const Pixels<T>& image, const Tap& row, const std::vector<Tap>& columns,
                    float* out) {
  const T* const low = image.Row(row.low);
  const T* const high = image.Row(row.high);
  for (const Tap& column : columns) {
    const int64_t left = column.low * image.channels;
    const int64_t right = column.high * image.channels;
    const auto between = [&](const T* line, int64_t c) {
      const float from = line[left + c];
      return from + (static_cast<float>(line[right + c]) - from) * column.weight;
    };
    for (int64_t c = 0; c < image.channels; ++c) {
      const float top = between(low, c);
      *out++ = top + (between(high, c) - top) * row.weight;
    }
  }
}

// Whether the resized pixels are pixels of the image.
bool CopiesPixels(const Axes& axes, nn::ResizeMethod method) {
  if (method == nn::ResizeMethod::kNearest) return true;
  return nn::KeepsImages(method) && axes[0].extent == axes[0].output &&
         axes[1].extent == axes[1].output;
}

// Calls write(row, at) for each row that is not padding, with the offset of its first element.
template <typename WriteRow>
void ForEachRow(const Axes& axes, const ImageTarget& target, WriteRow write) {
  for (int64_t i = 0; i < axes[0].output; ++i) {
    const int64_t pixel = (axes[0].place + i) * target.width + axes[1].place;
    write(i, pixel * target.channels);
  }
}

template <typename T>
void CopyPixels(const Pixels<T>& image, const Axes& axes, const ImageTarget& target, T* out) {
  const std::vector<Tap> rows = TapsOf(axes[0], /*is_nearest=*/true);
  const std::vector<Tap> columns = TapsOf(axes[1], /*is_nearest=*/true);
  ForEachRow(axes, target,
             [&](int64_t row, int64_t at) { CopyRow(image, rows[row].low, columns, out + at); });
}

template <typename T>
void Interpolate(const Pixels<T>& image, const Axes& axes, const ImageTarget& target, float* out) {
  const std::vector<Tap> rows = TapsOf(axes[0], /*is_nearest=*/false);
  const std::vector<Tap> columns = TapsOf(axes[1], /*is_nearest=*/false);
  ForEachRow(axes, target,
             [&](int64_t row, int64_t at) { InterpolateRow(image, rows[row], columns, out + at); });
}

// Adds weight * value to the sum of each element of a pixel or a row.
template <typename T>
void AddWeighted(const T* values, int64_t count, float weight, float* sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] += static_cast<float>(values[i]) * weight;
}

// Interpolates along the columns, then along the rows, as TensorFlow does.
template <typename T>
void InterpolateSpans(const Pixels<T>& image, const Axes& axes, const ImageTarget& target,
                      float* out) {
  const std::vector<nn::ResizeSpan> rows = nn::ResizeSpans(target.method, axes[0]);
  const std::vector<nn::ResizeSpan> columns = nn::ResizeSpans(target.method, axes[1]);
  const int64_t elements = image.width * image.channels;
  std::vector<float> line;
  ForEachRow(axes, target, [&](int64_t row, int64_t at) {
    line.assign(elements, 0);
    int64_t pixel = rows[row].first;
    for (const float weight : rows[row].weights) {
      AddWeighted(image.Row(pixel++), elements, weight, line.data());
    }
    float* sums = out + at;
    for (const nn::ResizeSpan& column : columns) {
      const float* value = line.data() + column.first * image.channels;
      for (const float weight : column.weights) {
        AddWeighted(value, image.channels, weight, sums);
        value += image.channels;
      }
      sums += image.channels;
    }
  });
}

template <typename T>
void Resize(const Pixels<T>& image, const Axes& axes, const ImageTarget& target, float* out) {
  if (target.method == nn::ResizeMethod::kBilinear) {
    Interpolate(image, axes, target, out);
  } else {
    InterpolateSpans(image, axes, target, out);
  }
}

}  // namespace

ResizedImage ResizeImage(const Image& image, const ImageTarget& target) {
  const Axes axes = AxesOf({image.height, image.width}, target);
  const Pixels<unsigned char> pixels = {reinterpret_cast<const unsigned char*>(image.pixels.data()),
                                        image.height, image.width, image.channels};
  ResizedImage resized;
  resized.is_float = !CopiesPixels(axes, target.method);
  if (resized.is_float) {
    resized.data.assign(target.elements() * sizeof(float), '\0');
    Resize(pixels, axes, target, reinterpret_cast<float*>(resized.data.data()));
  } else {
    resized.data.assign(target.elements(), '\0');
    CopyPixels(pixels, axes, target, reinterpret_cast<unsigned char*>(resized.data.data()));
  }
  return resized;
}

void ResizeFloats(const float* pixels, int64_t height, int64_t width, const ImageTarget& target,
                  float* out) {
  const Axes axes = AxesOf({height, width}, target);
  const Pixels<float> image = {pixels, height, width, target.channels};
  if (CopiesPixels(axes, target.method)) {
    CopyPixels(image, axes, target, out);
  } else {
    Resize(image, axes, target, out);
  }
}

}  // namespace cairn::worker
