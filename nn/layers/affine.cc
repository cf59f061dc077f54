#include "nn/layers/affine.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

// Reads one number for all channels or one per channel.
std::vector<double> ReadChannels(const char* argument, std::optional<double> default_value,
                                 int64_t channels, LayerConfig& config) {
  const auto numbers = config.Numbers(argument);
  if (!numbers.has_value() && !default_value.has_value()) {
    config.FailArgument(argument, "is missing");
  }
  if (!numbers.has_value()) return {default_value.value_or(0)};
  const int64_t count = static_cast<int64_t>(numbers->size());
  if (count == 1 || count == channels) return *numbers;
  config.FailArgument(argument, absl::StrCat("has ", count, " numbers; it takes 1 or ", channels,
                                             ", as many as the input has channels"));
  return {0};
}

LayerVariable Statistic(const char* name, const Shape& shape, const char* initializer,
                        LayerConfig& config) {
  LayerVariable variable = config.Variable(name, shape, initializer);
  variable.spec.update = VariableSpec::Update::kFrozen;
  return variable;
}

}  // namespace

double AffineLayer::ScaleOf(double variance) {
  constexpr double kKerasEpsilon = 1e-7;
  return 1 / std::max(std::sqrt(variance), kKerasEpsilon);
}

AffineLayer::Coefficients AffineLayer::ReadRescaling(int64_t channels, LayerConfig& config) {
  return {.scales = ReadChannels("scale", std::nullopt, channels, config),
          .offsets = ReadChannels("offset", 0, channels, config)};
}

AffineLayer::Coefficients AffineLayer::ReadNormalization(int64_t channels, LayerConfig& config,
                                                         std::vector<LayerVariable>* variables) {
  const bool has_mean = config.Has("mean");
  if (has_mean != config.Has("variance")) {
    config.Fail("has one of the arguments 'mean' and 'variance'; it takes both or none");
  }
  if (config.Bool("invert", false)) config.FailArgument("invert", "is not supported");
  // In Keras a null axis means one mean for all elements, and the default is the last axis. The
  // model reader drops null arguments, so the number of means and variances decides.
  const size_t rank = config.AnyInput().shape.size();
  if (config.Axis("axis", -1, rank) + 1 != static_cast<int64_t>(rank)) {
    config.FailArgument("axis", "must be the last one");
  }
  if (!has_mean) {
    const Shape shape = {channels};
    *variables = {Statistic("mean", shape, "zeros", config),
                  Statistic("variance", shape, "ones", config)};
    return {};
  }
  const std::vector<double> means = ReadChannels("mean", 0, channels, config);
  const std::vector<double> variances = ReadChannels("variance", 1, channels, config);
  Coefficients coefficients;
  for (size_t i = 0; i < std::max(means.size(), variances.size()); ++i) {
    const double variance = variances[variances.size() == 1 ? 0 : i];
    if (variance < 0) config.FailArgument("variance", absl::StrCat("is negative: ", variance));
    coefficients.scales.push_back(ScaleOf(variance));
    coefficients.offsets.push_back(-means[means.size() == 1 ? 0 : i] * ScaleOf(variance));
  }
  return coefficients;
}

absl::StatusOr<std::unique_ptr<const Layer>> AffineLayer::Create(LayerConfig& config) {
  const TensorSpec& input = config.AnyInput();
  const int64_t channels = input.shape.empty() ? 1 : input.shape.back();
  std::vector<LayerVariable> variables;
  Coefficients coefficients = config.class_name() == "Rescaling"
                                  ? ReadRescaling(channels, config)
                                  : ReadNormalization(channels, config, &variables);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new AffineLayer(
      config.base(), {.shape = input.shape}, std::move(variables), std::move(coefficients)));
}

}  // namespace cairn::nn
