#include "nn/layers/conv2d.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

// Keeps channels * multiplier within int64. The model checks the output's size.
constexpr int64_t kMultiplierMax = int64_t{1} << 20;

// The filters' arguments and the kernel in Keras's shape.
struct Filters {
  int64_t count = 1;
  int64_t groups = 1;
  LayerVariable kernel;
};

Filters ReadFilters(const Window& window, int64_t channels, bool flat, LayerConfig& config) {
  Filters filters{.count = config.Int("filters", std::nullopt, 1),
                  .groups = config.Int("groups", 1, 1)};
  if (channels % filters.groups != 0 || filters.count % filters.groups != 0) {
    config.FailArgument("groups", absl::StrCat("must divide the ", channels, " channels and the ",
                                               filters.count, " filters, is ", filters.groups));
  }
  const Shape shape = {window.size[0], window.size[1], channels / filters.groups, filters.count};
  filters.kernel = config.Variable("kernel", WithoutRow(shape, flat), "glorot_uniform");
  return filters;
}

Filters ReadDepthwiseFilters(const Window& window, int64_t channels, bool flat,
                             LayerConfig& config) {
  const int64_t multiplier = config.Int("depth_multiplier", 1, 1, kMultiplierMax);
  Filters filters{.count = channels * multiplier, .groups = channels};
  const Shape shape = {window.size[0], window.size[1], channels, multiplier};
  // Keras writes these arguments of the base class Conv2D; a depthwise convolution does not use
  // them.
  config.Ignore(
      {"filters", "groups", "kernel_initializer", "kernel_regularizer", "kernel_constraint"});
  filters.kernel = config.Variable("depthwise_kernel", WithoutRow(shape, flat), "glorot_uniform",
                                   /*argument_prefix=*/"depthwise");
  return filters;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> Conv2DLayer::Create(LayerConfig& config) {
  const bool is_depthwise = absl::StartsWith(config.class_name(), "Depthwise");
  const bool flat = absl::EndsWith(config.class_name(), "1D");
  const size_t rank = flat ? 2 : 3;
  const Shape input = ImageOf(config.FloatInput(rank, rank).shape);
  config.ExpectChannelsLast();
  Geometry geometry;
  geometry.window = ReadWindow({.size_argument = "kernel_size",
                                .size_required = true,
                                .dilates = true,
                                .one_dimension = flat,
                                .may_be_causal = flat && !is_depthwise},
                               input, config);
  Filters filters = is_depthwise ? ReadDepthwiseFilters(geometry.window, input[2], flat, config)
                                 : ReadFilters(geometry.window, input[2], flat, config);
  geometry.groups = filters.groups;
  geometry.activation = config.ActivationNamed("activation");
  const bool use_bias = config.Bool("use_bias", true);
  // Created even if unused, because Keras writes the bias's arguments in any case.
  LayerVariable bias = config.Variable("bias", {filters.count}, "zeros");
  std::vector<LayerVariable> variables = {std::move(filters.kernel)};
  if (use_bias) variables.push_back(std::move(bias));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  const Window& window = geometry.window;
  TensorSpec output{.shape = WithoutRow({window.output[0], window.output[1], filters.count}, flat)};
  return std::unique_ptr<const Layer>(
      new Conv2DLayer(config.base(), std::move(output), std::move(variables), geometry));
}

}  // namespace cairn::nn
