#include "nn/layers/conv2d.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> Conv2DLayer::Create(LayerConfig& config) {
  const Shape& input = config.FloatInput(3, 3).shape;
  const int64_t channels = input[2];
  const int64_t filters = config.Int("filters", std::nullopt, 1);
  config.ExpectChannelsLast();
  Geometry geometry;
  geometry.window = ReadWindow(
      {.size_argument = "kernel_size", .size_required = true, .dilates = true}, input, config);
  geometry.groups = config.Int("groups", 1, 1);
  geometry.activation = config.ActivationNamed("activation");
  if (channels % geometry.groups != 0 || filters % geometry.groups != 0) {
    config.FailArgument("groups", absl::StrCat("must divide the ", channels, " channels and the ",
                                               filters, " filters, is ", geometry.groups));
  }
  const Window& window = geometry.window;
  const bool use_bias = config.Bool("use_bias", true);
  // Asked for even if unused: Keras writes the bias's arguments all the same.
  LayerVariable bias = config.Variable("bias", {filters}, "zeros");
  std::vector<LayerVariable> variables = {config.Variable(
      "kernel", {window.size[0], window.size[1], channels / geometry.groups, filters},
      "glorot_uniform")};
  if (use_bias) variables.push_back(std::move(bias));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  TensorSpec output{.shape = {window.output[0], window.output[1], filters}};
  return std::unique_ptr<const Layer>(
      new Conv2DLayer(config.base(), std::move(output), std::move(variables), geometry));
}

}  // namespace cairn::nn
