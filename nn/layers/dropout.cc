#include "nn/layers/dropout.h"

#include <utility>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> DropoutLayer::Create(LayerConfig& config) {
  const double rate = config.Number("rate", -1, -1, 1);
  if (rate < 0) config.FailArgument("rate", "must be a number from 0 to 1");
  if (config.Has("noise_shape")) config.FailArgument("noise_shape", "is not supported");
  const bool is_alpha = config.class_name() == "AlphaDropout";
  if (is_alpha && rate == 1) config.FailArgument("rate", "must be smaller than 1");
  config.Ignore({"seed"});  // Draws depend on the job's seed.
  const bool is_spatial = absl::StartsWith(config.class_name(), "Spatial");
  const size_t rank = absl::EndsWith(config.class_name(), "1D")   ? 2
                      : absl::EndsWith(config.class_name(), "3D") ? 4
                                                                  : 3;
  TensorSpec output = is_spatial ? config.FloatInput(rank, rank) : config.FloatInput(0, kRankMax);
  if (is_spatial) config.ExpectChannelsLast();
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new DropoutLayer(config.base(), std::move(output), rate, is_spatial, is_alpha));
}

}  // namespace cairn::nn
