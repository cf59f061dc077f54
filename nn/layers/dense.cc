#include "nn/layers/dense.h"

#include <optional>
#include <utility>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> DenseLayer::Create(LayerConfig& config) {
  const int64_t units = config.Int("units", std::nullopt, 1);
  const Activation activation = config.ActivationNamed("activation");
  const bool use_bias = config.Bool("use_bias", true);
  TensorSpec output = config.FloatInput(1, kRankMax);
  const int64_t input_width = output.shape.back();
  output.shape.back() = units;

  // Created even if unused, because Keras writes the bias's arguments in any case.
  LayerVariable bias = config.Variable("bias", {units}, "zeros");
  std::vector<LayerVariable> variables = {
      config.Variable("kernel", {input_width, units}, "glorot_uniform")};
  if (use_bias) variables.push_back(std::move(bias));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new DenseLayer(config.base(), std::move(output), std::move(variables), activation));
}

}  // namespace cairn::nn
