#include "nn/layers/random_color.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// Keras's factor: two numbers, or one, f, for (max(-f, smallest), f).
std::array<double, 2> ReadFactor(double smallest, LayerConfig& config) {
  const std::optional<std::vector<double>> given = config.Numbers("factor");
  if (!given.has_value()) config.FailArgument("factor", "is missing");
  std::vector<double> factor = given.value_or(std::vector<double>{0});
  if (factor.size() == 1) {
    factor = {std::max(-std::fabs(factor[0]), smallest), std::fabs(factor[0])};
  }
  std::sort(factor.begin(), factor.end());
  if (factor.size() != 2 || factor[0] < smallest || factor[1] > 1) {
    config.FailArgument("factor", smallest < 0 ? "must be one or two numbers from -1 to 1"
                                               : "must be one or two numbers from 0 to 1");
    return {0, 0};
  }
  return {factor[0], factor[1]};
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> RandomColorLayer::Create(LayerConfig& config) {
  TensorSpec output{.shape = config.ImageInput(3).shape};
  Arguments arguments;
  if (config.class_name() == "RandomContrast") arguments.kind = Kind::kContrast;
  const bool is_contrast = arguments.kind == Kind::kContrast;
  const auto [low, high] = ReadFactor(is_contrast ? 0 : -1, config);
  std::vector<double> range = config.Numbers("value_range").value_or(std::vector<double>{0, 255});
  if (range.size() != 2 || range[0] == range[1]) {
    config.FailArgument("value_range", "must be two different numbers");
    range = {0, 1};
  }
  std::sort(range.begin(), range.end());
  arguments.value_range = {range[0], range[1]};
  const double length = range[1] - range[0];
  arguments.draws = is_contrast ? std::array<double, 2>{1 - low, 1 + high}
                                : std::array<double, 2>{low * length, high * length};
  config.ExpectChannelsLast();
  config.Ignore({"seed"});  // Draws depend on the job's seed.
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new RandomColorLayer(config.base(), std::move(output), arguments));
}

}  // namespace cairn::nn
