#include "nn/layers/gaussian_noise.h"

#include <cmath>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> GaussianNoiseLayer::Create(LayerConfig& config) {
  const bool multiplies = config.class_name() == "GaussianDropout";
  const char* argument = multiplies ? "rate" : "stddev";
  double stddev = config.Number(argument, -1, -1);
  if (stddev < 0) config.FailArgument(argument, "must be a number that is not negative");
  if (multiplies && stddev >= 1) config.FailArgument("rate", "must be smaller than 1");
  if (multiplies) stddev = std::sqrt(stddev / (1 - stddev));
  config.Ignore({"seed"});  // Draws depend on the job's seed.
  TensorSpec output = config.FloatInput(0, kRankMax);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new GaussianNoiseLayer(config.base(), std::move(output), stddev, multiplies));
}

}  // namespace cairn::nn
