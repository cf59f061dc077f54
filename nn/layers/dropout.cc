#include "nn/layers/dropout.h"

#include <utility>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> DropoutLayer::Create(LayerConfig& config) {
  const double rate = config.Number("rate", -1, -1, 1);
  if (rate < 0) config.FailArgument("rate", "must be a number from 0 to 1");
  if (config.Has("noise_shape")) config.FailArgument("noise_shape", "is not supported");
  config.Ignore({"seed"});  // Draws depend on the job's seed.
  TensorSpec output = config.FloatInput(0, kRankMax);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new DropoutLayer(config.base(), std::move(output), rate));
}

}  // namespace cairn::nn
