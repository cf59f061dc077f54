#include "nn/layers/random_pixels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/random_normal.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// Two numbers from 0 to 1, or one, f, for (0, f).
std::array<double, 2> ReadFactor(const char* argument, std::array<double, 2> default_value,
                                 LayerConfig& config) {
  std::vector<double> factor =
      config.Numbers(argument).value_or(std::vector<double>{default_value[0], default_value[1]});
  if (factor.size() == 1) factor.insert(factor.begin(), 0);
  std::sort(factor.begin(), factor.end());
  if (factor.size() == 2 && factor[0] >= 0 && factor[1] <= 1) return {factor[0], factor[1]};
  config.FailArgument(argument, "must be one or two numbers from 0 to 1");
  return default_value;
}

std::array<double, 2> ReadValueRange(LayerConfig& config) {
  const std::vector<double> range =
      config.Numbers("value_range").value_or(std::vector<double>{0, 255});
  if (range.size() == 2 && range[0] < range[1]) return {range[0], range[1]};
  config.FailArgument("value_range", "must be two numbers, the smaller one first");
  return {0, 255};
}

}  // namespace

RandomPixelsLayer::Arguments RandomPixelsLayer::ReadArguments(int64_t channels,
                                                              LayerConfig& config) {
  Arguments arguments;
  if (config.class_name() == "RandomGrayscale") {
    arguments.kind = Kind::kGray;
    const double factor = config.Number("factor", 0.5, 0, 1);
    arguments.probability = {factor, factor};
    if (channels != 1 && channels != 3) {
      config.Fail(absl::StrCat("takes images with 1 or 3 channels, has ", channels));
    }
    return arguments;
  }
  arguments.value_range = ReadValueRange(config);
  if (config.class_name() == "Solarization") {
    arguments.kind = Kind::kSolarize;
    // Keras multiplies the larger number only.
    arguments.addition = ReadFactor("addition_factor", {0, 0}, config);
    arguments.addition[1] *= 255;
    arguments.threshold = ReadFactor("threshold_factor", {0, 0}, config);
    arguments.threshold[1] *= 255;
    return arguments;
  }
  arguments.probability = ReadFactor("factor", {0, 1}, config);
  if (config.class_name() == "RandomErasing") {
    arguments.kind = Kind::kErase;
    arguments.scale = ReadFactor("scale", {0.02, 0.33}, config);
    arguments.fill = config.Numbers("fill_value").value_or(std::vector<double>{});
    if (arguments.fill.size() == 1) arguments.fill.resize(channels, arguments.fill[0]);
    if (!arguments.fill.empty() && arguments.fill.size() != static_cast<size_t>(channels)) {
      config.FailArgument("fill_value",
                          absl::StrCat("must be one number or one for each of the ", channels,
                                       " channels, has ", arguments.fill.size()));
    }
    for (double& value : arguments.fill) {
      value = std::clamp(value, arguments.value_range[0], arguments.value_range[1]);
    }
  }
  return arguments;
}

absl::StatusOr<std::unique_ptr<const Layer>> RandomPixelsLayer::Create(LayerConfig& config) {
  TensorSpec output{.shape = config.ImageInput(3).shape};
  Arguments arguments = ReadArguments(output.shape[2], config);
  config.ExpectChannelsLast();
  config.Ignore({"seed"});  // Draws depend on the job's seed.
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new RandomPixelsLayer(config.base(), std::move(output), std::move(arguments)));
}

float RandomPixelsLayer::FillValue(uint64_t key, int64_t example, int64_t element) const {
  if (!arguments_.fill.empty()) {
    return static_cast<float>(arguments_.fill[element % output().shape[2]]);
  }
  const int64_t index = example * ElementCount(output().shape) + element;
  const double value = RandomNormal(FillKey(key), 2 * index) * arguments_.value_range[1];
  return static_cast<float>(
      std::clamp(value, arguments_.value_range[0], arguments_.value_range[1]));
}

}  // namespace cairn::nn
