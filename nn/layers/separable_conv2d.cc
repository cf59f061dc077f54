#include "nn/layers/separable_conv2d.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {
constexpr int64_t kMultiplierMax = int64_t{1} << 20;
}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> SeparableConv2DLayer::Create(LayerConfig& config) {
  const bool flat = absl::EndsWith(config.class_name(), "1D");
  const size_t rank = flat ? 2 : 3;
  const Shape input = ImageOf(config.FloatInput(rank, rank).shape);
  const int64_t filters = config.Int("filters", std::nullopt, 1);
  const int64_t multiplier = config.Int("depth_multiplier", 1, 1, kMultiplierMax);
  config.ExpectChannelsLast();
  const Window window = ReadWindow({.size_argument = "kernel_size",
                                    .size_required = true,
                                    .dilates = true,
                                    .one_dimension = flat,
                                    .may_be_causal = flat},
                                   input, config);
  if (config.Int("groups", 1, 1) != 1) config.FailArgument("groups", "must be 1");
  // Keras writes these arguments of the base class Conv2D; they are not used.
  config.Ignore({"kernel_initializer", "kernel_regularizer", "kernel_constraint"});
  const Activation activation = config.ActivationNamed("activation");
  const bool use_bias = config.Bool("use_bias", true);
  // Created even if unused, because Keras writes the bias's arguments in any case.
  LayerVariable bias = config.Variable("bias", {filters}, "zeros");
  const Shape depthwise = {window.size[0], window.size[1], input[2], multiplier};
  const Shape pointwise = {1, 1, input[2] * multiplier, filters};
  std::vector<LayerVariable> variables = {
      config.Variable("depthwise_kernel", WithoutRow(depthwise, flat), "glorot_uniform",
                      /*argument_prefix=*/"depthwise"),
      config.Variable("pointwise_kernel", WithoutRow(pointwise, flat), "glorot_uniform",
                      /*argument_prefix=*/"pointwise")};
  if (use_bias) variables.push_back(std::move(bias));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  TensorSpec output{.shape = WithoutRow({window.output[0], window.output[1], filters}, flat)};
  return std::unique_ptr<const Layer>(new SeparableConv2DLayer(
      config.base(), std::move(output), std::move(variables), window, multiplier, activation));
}

}  // namespace cairn::nn
