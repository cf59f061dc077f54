// Reference implementations of layers that rearrange elements or resize images.

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "nn/layers/random_affine.h"
#include "nn/layers/random_color.h"
#include "nn/layers/random_crop.h"
#include "nn/layers/random_flip.h"
#include "nn/layers/random_pixels.h"
#include "nn/layers/rearranging.h"
#include "nn/layers/resizing.h"
#include "tests/nn/reference_layers.h"

namespace cairn::nn::testing {
namespace {

// The shape of an image; in one dimension it has one row.
struct Image {
  int64_t height = 1;
  int64_t width = 1;
  int64_t channels = 1;

  explicit Image(const Shape& shape)
      : height(shape.size() == 3 ? shape[0] : 1),
        width(shape[shape.size() - 2]),
        channels(shape.back()) {}
  int64_t At(int64_t example, int64_t row, int64_t column, int64_t channel) const {
    return ((example * height + row) * width + column) * channels + channel;
  }
};

template <typename Compute>
Doubles ForEachPixel(int64_t examples, const Image& output, const Compute& compute) {
  Doubles values;
  for (int64_t example = 0; example < examples; ++example) {
    for (int64_t row = 0; row < output.height; ++row) {
      for (int64_t column = 0; column < output.width; ++column) {
        for (int64_t channel = 0; channel < output.channels; ++channel) {
          values.push_back(compute(example, row, column, channel));
        }
      }
    }
  }
  return values;
}

// The position of an output pixel's center in the part [start, start + extent) of an axis.
double Center(const ResizedAxis& axis, int64_t i) {
  const double scale = static_cast<double>(axis.extent) / static_cast<double>(axis.output);
  const double center = (static_cast<double>(i) + 0.5) * scale - 0.5;
  const double last = static_cast<double>(axis.extent - 1);
  return static_cast<double>(axis.start) + std::clamp(center, 0.0, last);
}

Doubles Interpolate(const ReferenceCall& call, const Resize& resize) {
  const Image input(call.layer.inputs()[0].shape);
  return ForEachPixel(call.batch.size, Image(call.layer.output().shape),
                      [&](int64_t example, int64_t row, int64_t column, int64_t channel) {
                        const double y = Center(resize.axes[0], row);
                        const double x = Center(resize.axes[1], column);
                        const auto pixel = [&](double at_y, double at_x) {
                          return (*call.inputs[0])[input.At(example, static_cast<int64_t>(at_y),
                                                            static_cast<int64_t>(at_x), channel)];
                        };
                        if (resize.nearest) return pixel(std::floor(y + 0.5), std::floor(x + 0.5));
                        const double v = y - std::floor(y);
                        const double u = x - std::floor(x);
                        return (1 - v) * (1 - u) * pixel(std::floor(y), std::floor(x)) +
                               (1 - v) * u * pixel(std::floor(y), std::ceil(x)) +
                               v * (1 - u) * pixel(std::ceil(y), std::floor(x)) +
                               v * u * pixel(std::ceil(y), std::ceil(x));
                      });
}

// The coordinate that TensorFlow's ImageProjectiveTransformV3 reads for one outside of `n` pixels.
double Filled(RandomAffineLayer::Fill fill, double at, double n) {
  using Fill = RandomAffineLayer::Fill;
  if (fill == Fill::kConstant) return at;
  if (n == 1) return 0;
  if (fill == Fill::kWrap) {
    if (at < 0) {
      at += n * (std::trunc(-at / (n - 1)) + 1);
    } else if (at > n - 1) {
      at -= n * std::trunc(at / (n - 1));
    }
  }
  if (fill == Fill::kReflect && at < 0) {
    at += 2 * n * std::trunc(-at / (2 * n));
    at = at < -n ? at + 2 * n : -at - 1;
  } else if (fill == Fill::kReflect && at > n - 1) {
    at -= 2 * n * std::trunc(at / (2 * n));
    if (at >= n) at = 2 * n - at - 1;
  }
  return std::clamp(at, 0.0, n - 1);
}

}  // namespace

// Padding and cropping, as given by the first mappings.
Doubles ReferenceFrame(const ReferenceCall& call) {
  const auto& mappings = static_cast<const RearrangingLayer&>(call.layer).mappings();
  const Image input(call.layer.inputs()[0].shape);
  const int64_t top = mappings.size() == 3 ? mappings[0].offset : 0;
  const int64_t left = mappings[mappings.size() - 2].offset;
  return ForEachPixel(
      call.batch.size, Image(call.layer.output().shape),
      [&](int64_t example, int64_t row, int64_t column, int64_t channel) {
        const int64_t y = row - top;
        const int64_t x = column - left;
        const bool is_inside = y >= 0 && y < input.height && x >= 0 && x < input.width;
        return is_inside ? (*call.inputs[0])[input.At(example, y, x, channel)] : 0.0;
      });
}

// For three axes, identified by their lengths, which differ.
Doubles ReferencePermute(const ReferenceCall& call) {
  const Shape& from = call.layer.inputs()[0].shape;
  const Shape& to = call.layer.output().shape;
  CAIRN_CHECK(from.size() == 3 && from[0] != from[1] && from[1] != from[2] && from[0] != from[2]);
  Doubles output;
  for (int64_t example = 0; example < call.batch.size; ++example) {
    for (int64_t i = 0; i < to[0]; ++i) {
      for (int64_t j = 0; j < to[1]; ++j) {
        for (int64_t k = 0; k < to[2]; ++k) {
          const int64_t at[] = {i, j, k};
          int64_t source = example;
          for (int64_t length : from) {
            source = source * length + at[std::find(to.begin(), to.end(), length) - to.begin()];
          }
          output.push_back((*call.inputs[0])[source]);
        }
      }
    }
  }
  return output;
}

Doubles ReferenceRepeatVector(const ReferenceCall& call) {
  const int64_t width = call.layer.inputs()[0].shape[0];
  Doubles output;
  for (int64_t example = 0; example < call.batch.size; ++example) {
    for (int64_t time = 0; time < call.layer.output().shape[0]; ++time) {
      const auto vector = call.inputs[0]->begin() + example * width;
      output.insert(output.end(), vector, vector + width);
    }
  }
  return output;
}

Doubles ReferenceResizing(const ReferenceCall& call) {
  return Interpolate(call, static_cast<const ResizingLayer&>(call.layer).resize());
}

Doubles ReferenceRandomFlip(const ReferenceCall& call) {
  if (!call.batch.training) return *call.inputs[0];
  const auto& layer = static_cast<const RandomFlipLayer&>(call.layer);
  const Image image(layer.output().shape);
  return ForEachPixel(
      call.batch.size, image, [&](int64_t example, int64_t row, int64_t column, int64_t channel) {
        const bool rows = layer.flips_rows() && RandomFlipLayer::Flips(call.key(), example, 0);
        const bool columns =
            layer.flips_columns() && RandomFlipLayer::Flips(call.key(), example, 1);
        return (*call.inputs[0])[image.At(example, rows ? image.height - 1 - row : row,
                                          columns ? image.width - 1 - column : column, channel)];
      });
}

Doubles ReferenceRandomAffine(const ReferenceCall& call) {
  const auto& layer = static_cast<const RandomAffineLayer&>(call.layer);
  if (!call.batch.training || layer.inference_only()) return *call.inputs[0];
  const Image image(layer.output().shape);
  return ForEachPixel(
      call.batch.size, image, [&](int64_t example, int64_t row, int64_t column, int64_t channel) {
        const RandomAffineLayer::Map map = layer.Draw(call.key(), example);
        const auto at_x = static_cast<double>(column);
        const auto at_y = static_cast<double>(row);
        const double x = Filled(layer.fill(), map.x(at_x, at_y), image.width);
        const double y = Filled(layer.fill(), map.y(at_x, at_y), image.height);
        const auto pixel = [&](double pixel_y, double pixel_x) {
          const bool is_inside =
              pixel_y >= 0 && pixel_x >= 0 && pixel_y < image.height && pixel_x < image.width;
          if (!is_inside) return layer.fill_value();
          return (*call.inputs[0])[image.At(example, static_cast<int64_t>(pixel_y),
                                            static_cast<int64_t>(pixel_x), channel)];
        };
        if (layer.nearest()) return pixel(std::round(y), std::round(x));
        const double left = std::floor(x);
        const double above = std::floor(y);
        const auto between = [&](double pixel_y) {
          return (left + 1 - x) * pixel(pixel_y, left) + (x - left) * pixel(pixel_y, left + 1);
        };
        return (above + 1 - y) * between(above) + (y - above) * between(above + 1);
      });
}

Doubles ReferenceRandomPixels(const ReferenceCall& call) {
  using Kind = RandomPixelsLayer::Kind;
  const auto& layer = static_cast<const RandomPixelsLayer&>(call.layer);
  if (!call.batch.training || layer.inference_only()) return *call.inputs[0];
  const Image image(layer.output().shape);
  const auto [low, high] = layer.value_range();
  return ForEachPixel(
      call.batch.size, image, [&](int64_t example, int64_t row, int64_t column, int64_t channel) {
        const auto at = [&](int64_t c) {
          return (*call.inputs[0])[image.At(example, row, column, c)];
        };
        const RandomPixelsLayer::Change change = layer.Draw(call.key(), example);
        if (!change.applies) return at(channel);
        if (layer.kind() == Kind::kInvert) return high - at(channel);
        if (layer.kind() == Kind::kGray) {
          return image.channels == 1 ? at(0) : 0.2989 * at(0) + 0.587 * at(1) + 0.114 * at(2);
        }
        if (layer.kind() == Kind::kErase) {
          const bool is_inside = row >= change.begin[0] && row < change.end[0] &&
                                 column >= change.begin[1] && column < change.end[1];
          const int64_t element = image.At(0, row, column, channel);
          return is_inside ? layer.FillValue(call.key(), example, element) : at(channel);
        }
        double value = (at(channel) - low) / (high - low) * 255 + change.addition;
        value = std::min(std::max(value, 0.0), 255.0);
        return low + (value < change.threshold ? value : 255 - value) / 255 * (high - low);
      });
}

Doubles ReferenceRandomColor(const ReferenceCall& call) {
  const auto& layer = static_cast<const RandomColorLayer&>(call.layer);
  Doubles output = *call.inputs[0];
  if (!call.batch.training || layer.inference_only()) return output;
  const Image image(layer.output().shape);
  const int64_t pixels = image.height * image.width;
  for (int64_t i = 0; i < call.batch.size * image.channels; ++i) {
    const int64_t example = i / image.channels;
    double* const values = output.data() + example * pixels * image.channels + i % image.channels;
    double mean = 0;
    for (int64_t p = 0; p < pixels; ++p) mean += values[p * image.channels] / pixels;
    const double draw = layer.Draw(call.key(), example);
    for (int64_t p = 0; p < pixels; ++p) {
      double& value = values[p * image.channels];
      value = layer.kind() == RandomColorLayer::Kind::kContrast ? (value - mean) * draw + mean
                                                                : value + draw;
      value = std::min(std::max(value, layer.value_range()[0]), layer.value_range()[1]);
    }
  }
  return output;
}

Doubles ReferenceRandomCrop(const ReferenceCall& call) {
  const auto& layer = static_cast<const RandomCropLayer&>(call.layer);
  if (!call.batch.training || !layer.crops()) return Interpolate(call, layer.middle());
  const Image image(layer.inputs()[0].shape);
  return ForEachPixel(
      call.batch.size, Image(layer.output().shape),
      [&](int64_t example, int64_t row, int64_t column, int64_t channel) {
        return (*call.inputs[0])[image.At(example, row + layer.Start(call.key(), example, 0),
                                          column + layer.Start(call.key(), example, 1), channel)];
      });
}

}  // namespace cairn::nn::testing
