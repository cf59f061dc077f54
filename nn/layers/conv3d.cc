#include "nn/layers/conv3d.h"

#include <optional>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> Conv3DLayer::Create(LayerConfig& config) {
  const Shape input = config.FloatInput(4, 4).shape;
  config.ExpectChannelsLast();
  const VolumeWindow window = ReadVolumeWindow(
      {.size_argument = "kernel_size", .size_required = true, .dilates = true}, input, config);
  const int64_t filters = config.Int("filters", std::nullopt, 1);
  // TensorFlow has no grouped convolutions of volumes on CPUs.
  if (config.Int("groups", 1, 1) != 1) config.FailArgument("groups", "is not supported");
  Shape shape = window.size();
  shape.insert(shape.end(), {input[3], filters});
  LayerVariable kernel = config.Variable("kernel", std::move(shape), "glorot_uniform");
  const Activation activation = config.ActivationNamed("activation");
  const bool use_bias = config.Bool("use_bias", true);
  // Created even if unused, because Keras writes the bias's arguments in any case.
  LayerVariable bias = config.Variable("bias", {filters}, "zeros");
  std::vector<LayerVariable> variables = {std::move(kernel)};
  if (use_bias) variables.push_back(std::move(bias));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  TensorSpec output{.shape = window.output()};
  output.shape.push_back(filters);
  return std::unique_ptr<const Layer>(
      new Conv3DLayer(config.base(), std::move(output), std::move(variables), window, activation));
}

}  // namespace cairn::nn
