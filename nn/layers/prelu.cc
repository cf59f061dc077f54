#include "nn/layers/prelu.h"

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> PReLULayer::Create(LayerConfig& config) {
  TensorSpec output = config.FloatInput(1, kRankMax);
  Shape alpha = output.shape;
  const int64_t rank = static_cast<int64_t>(alpha.size());
  const auto shared = config.Ints("shared_axes", 1, rank).value_or(std::vector<int64_t>());
  for (int64_t axis : shared) alpha[axis - 1] = 1;
  std::vector<LayerVariable> variables = {config.Variable("alpha", alpha, "zeros")};
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new PReLULayer(config.base(), std::move(output), std::move(variables)));
}

}  // namespace cairn::nn
