#include "nn/layers/random_affine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

constexpr int64_t kSideMax = int64_t{1} << 20;

// Keras's factor: two numbers, or one, f, for (-f, f).
std::array<double, 2> ReadFactor(const char* argument, std::optional<double> default_value,
                                 LayerConfig& config) {
  std::optional<std::vector<double>> given = config.Numbers(argument);
  if (!given.has_value() && !default_value.has_value()) config.FailArgument(argument, "is missing");
  std::vector<double> factor = given.value_or(std::vector<double>{default_value.value_or(0)});
  if (factor.size() == 1) factor = {-std::fabs(factor[0]), std::fabs(factor[0])};
  std::sort(factor.begin(), factor.end());
  if (factor.size() == 2 && factor[0] >= -1 && factor[1] <= 1) return {factor[0], factor[1]};
  config.FailArgument(argument, "must be one or two numbers from -1 to 1");
  return {0, 0};
}

double DrawFrom(const std::array<double, 2>& range, uint64_t key, int64_t draw) {
  return range[0] + (range[1] - range[0]) * RandomUniform(key, draw);
}

}  // namespace

RandomAffineLayer::Arguments RandomAffineLayer::ReadArguments(LayerConfig& config) {
  Arguments arguments;
  if (config.class_name() == "RandomRotation") {
    arguments.kind = Kind::kRotation;
    arguments.first = ReadFactor("factor", std::nullopt, config);
  } else if (config.class_name() == "RandomShear") {
    arguments.kind = Kind::kShear;
    arguments.first = ReadFactor("y_factor", 0, config);
    arguments.second = ReadFactor("x_factor", 0, config);
  } else {
    const bool zooms = config.class_name() == "RandomZoom";
    arguments.kind = zooms ? Kind::kZoom : Kind::kTranslation;
    arguments.has_one_draw = zooms && !config.Has("width_factor");
    arguments.first = ReadFactor("height_factor", std::nullopt, config);
    arguments.second =
        ReadFactor("width_factor", zooms ? std::optional<double>(0) : std::nullopt, config);
  }
  const std::string fill = config.Choice("fill_mode", {"reflect", "wrap", "constant", "nearest"});
  arguments.fill = fill == "wrap"       ? Fill::kWrap
                   : fill == "constant" ? Fill::kConstant
                   : fill == "nearest"  ? Fill::kNearest
                                        : Fill::kReflect;
  constexpr double kLargest = std::numeric_limits<float>::max();
  arguments.fill_value = config.Number("fill_value", 0, -kLargest, kLargest);
  arguments.nearest = config.Choice("interpolation", {"bilinear", "nearest"}) == "nearest";
  return arguments;
}

absl::StatusOr<std::unique_ptr<const Layer>> RandomAffineLayer::Create(LayerConfig& config) {
  TensorSpec output{.shape = config.ImageInput(3).shape};
  if (output.shape[0] > kSideMax || output.shape[1] > kSideMax) {
    config.Fail(absl::StrCat("the image has a side longer than ", kSideMax));
  }
  const Arguments arguments = ReadArguments(config);
  config.ExpectChannelsLast();
  config.Ignore({"seed"});  // Draws depend on the job's seed.
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new RandomAffineLayer(config.base(), std::move(output), arguments));
}

RandomAffineLayer::Map RandomAffineLayer::Draw(uint64_t key, int64_t example) const {
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
