#include "nn/layers/conv2d_transpose.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

// The window of the convolution from this layer's output to its input. Its `output` holds this
// layer's output size.
Window ReadConvolutionWindow(const Shape& input, bool flat, LayerConfig& config) {
  const WindowArguments arguments = ReadWindowArguments({.size_argument = "kernel_size",
                                                         .size_required = true,
                                                         .dilates = true,
                                                         .one_dimension = flat},
                                                        config);
  const auto extra = config.Ints("output_padding", 0);
  if (extra.has_value() && extra->size() != 1 && extra->size() != 2) {
    config.FailArgument("output_padding", "must be one number or two");
    return {};
  }
  Shape output = {1, 1, 1};
  for (int axis = flat ? 1 : 0; axis < 2; ++axis) {
    std::optional<int64_t> padding;
    if (extra.has_value()) padding = extra->size() == 2 ? (*extra)[axis] : (*extra)[0];
    output[axis] = TransposedLength(arguments, axis, input[axis], padding, config);
    if (output[axis] == 0) return {};
  }
  // Several output sizes can map to the same input size. The chosen one must map back to the actual
  // input.
  Window window = SlideWindow(arguments, output, config);
  if (window.output[0] != input[0] || window.output[1] != input[1]) {
    config.FailArgument("output_padding",
                        absl::StrCat("gives an output of ", output[0], " x ", output[1],
                                     "; a convolution of that size does not have an output of ",
                                     input[0], " x ", input[1]));
  }
  window.output = {output[0], output[1]};
  return window;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> Conv2DTransposeLayer::Create(LayerConfig& config) {
  const bool flat = absl::StartsWith(config.class_name(), "Conv1D");
  const size_t rank = flat ? 2 : 3;
  const Shape input = ImageOf(config.FloatInput(rank, rank).shape);
  const int64_t filters = config.Int("filters", std::nullopt, 1);
  config.ExpectChannelsLast();
  Window window = ReadConvolutionWindow(input, flat, config);
  if (config.Int("groups", 1, 1) != 1) config.FailArgument("groups", "must be 1");
  const Activation activation = config.ActivationNamed("activation");
  const bool use_bias = config.Bool("use_bias", true);
  // Created even if unused, because Keras writes the bias's arguments in any case.
  LayerVariable bias = config.Variable("bias", {filters}, "zeros");
  const Shape kernel = {window.size[0], window.size[1], filters, input[2]};
  std::vector<LayerVariable> variables = {
      config.Variable("kernel", WithoutRow(kernel, flat), "glorot_uniform")};
  if (use_bias) variables.push_back(std::move(bias));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  TensorSpec output{.shape = WithoutRow({window.output[0], window.output[1], filters}, flat)};
  window.output = {input[0], input[1]};
  return std::unique_ptr<const Layer>(new Conv2DTransposeLayer(
      config.base(), std::move(output), std::move(variables), window, activation));
}

}  // namespace cairn::nn
