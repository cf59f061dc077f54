#ifndef CAIRN_NN_LAYERS_RANDOM_AFFINE_H_
#define CAIRN_NN_LAYERS_RANDOM_AFFINE_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <utility>

#include "absl/status/statusor.h"
#include "common/random.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// RandomTranslation, RandomRotation, RandomZoom and RandomShear: during training each image is
// mapped by one affine map, which is drawn for it. In inference the layer is the identity.
class RandomAffineLayer : public Layer {
 public:
  enum class Kind { kTranslation, kRotation, kZoom, kShear };
  // What is outside of the image: the image reflected at its borders (dcba|abcd|dcba), repeated,
  // fill_value(), or the border's pixels.
  enum class Fill { kReflect, kWrap, kConstant, kNearest };
  // The pixel (x, y) of the output has the value of the input at (x(..), y(..)).
  struct Map {
    std::array<double, 3> x_row = {1, 0, 0};
    std::array<double, 3> y_row = {0, 1, 0};

    constexpr double x(double column, double row) const {
      return x_row[0] * column + x_row[1] * row + x_row[2];
    }
    constexpr double y(double column, double row) const {
      return y_row[0] * column + y_row[1] * row + y_row[2];
    }
  };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Fill fill() const { return arguments_.fill; }
  double fill_value() const { return arguments_.fill_value; }
  // Nearest-neighbor interpolation, otherwise bilinear.
  bool nearest() const { return arguments_.nearest; }
  // An example's map. A pure function of the layer's key in the batch.
  Map Draw(uint64_t key, int64_t example) const;

 private:
  using Range = std::array<double, 2>;
  struct Arguments {
    Kind kind = Kind::kTranslation;
    // The ranges of the draws: of height and width, parts of a turn (rotation has one draw), or the
    // shears of y and x.
    Range first = {0, 0};
    Range second = {0, 0};
    // If true, the second draw is the first one.
    bool has_one_draw = false;
    Fill fill = Fill::kReflect;
    double fill_value = 0;
    bool nearest = false;
  };
  RandomAffineLayer(Base base, TensorSpec output, const Arguments& arguments)
      : Layer(std::move(base), std::move(output), {}), arguments_(arguments) {}
  static Arguments ReadArguments(LayerConfig& config);
  static double DrawFrom(const Range& range, uint64_t key, int64_t draw) {
    return range[0] + (range[1] - range[0]) * RandomUniform(key, draw);
  }

  const Arguments arguments_;
};

// Inline: the GPU library uses it, and must not link what reads configurations.
inline RandomAffineLayer::Map RandomAffineLayer::Draw(uint64_t key, int64_t example) const {
  const double first = DrawFrom(arguments_.first, key, 3 * example);
  const double second =
      arguments_.has_one_draw ? first : DrawFrom(arguments_.second, key, 3 * example + 1);
  const auto height = static_cast<double>(output().shape[0]);
  const auto width = static_cast<double>(output().shape[1]);
  const double center_y = (height - 1) / 2;
  const double center_x = (width - 1) / 2;
  Map map;
  switch (arguments_.kind) {
    case Kind::kTranslation:
      map.x_row[2] = -second * width;
      map.y_row[2] = -first * height;
      break;
    case Kind::kRotation: {
      const double angle = first * 2 * std::numbers::pi;
      const double cosine = std::cos(angle);
      const double sine = std::sin(angle);
      map.x_row = {cosine, -sine, center_x - center_x * cosine + center_y * sine};
      map.y_row = {sine, cosine, center_y - center_x * sine - center_y * cosine};
      break;
    }
    case Kind::kZoom: {
      // A zoom above 1 shows more than the image.
      const double by_height = 1 + first;
      const double by_width = 1 + second;
      map.x_row = {by_width, 0, center_x * (1 - by_width)};
      map.y_row = {0, by_height, center_y * (1 - by_height)};
      break;
    }
    case Kind::kShear: {
      // Both shears have the same random sign.
      const double sign = RandomUniform(key, 3 * example + 2) > 0.5f ? -1 : 1;
      map.x_row[1] = sign * second;
      map.y_row[0] = sign * first;
      break;
    }
  }
  return map;
}

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_RANDOM_AFFINE_H_
