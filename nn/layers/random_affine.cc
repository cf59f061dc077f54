#include "nn/layers/random_affine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

}  // namespace cairn::nn
