#include "nn/layers/conv3d.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// The window of the convolution from a transposed convolution's output, whose size it returns in
// `output`, to its input.
VolumeWindow ReadTransposedWindow(const Shape& input, Shape* output, LayerConfig& config) {
  using Triple = std::array<int64_t, 3>;
  const Triple size = ReadTriple("kernel_size", std::nullopt, config);
  const Triple strides = ReadTriple("strides", Triple{1, 1, 1}, config);
  const Triple dilation = ReadTriple("dilation_rate", Triple{1, 1, 1}, config);
  using Padding = WindowArguments::Padding;
  const Padding padding =
      config.Choice("padding", {"valid", "same"}) == "same" ? Padding::kSame : Padding::kValid;
  auto extra = config.Ints("output_padding", 0);
  if (extra.has_value() && extra->size() == 1) extra->resize(3, (*extra)[0]);
  if (extra.has_value() && extra->size() != 3) {
    config.FailArgument("output_padding", "must be one number or three");
    return {};
  }
  const WindowArguments depth = {.size = {size[0], 1},
                                 .strides = {strides[0], 1},
                                 .dilation = {dilation[0], 1},
                                 .padding = padding};
  const WindowArguments plane = {.size = {size[1], size[2]},
                                 .strides = {strides[1], strides[2]},
                                 .dilation = {dilation[1], dilation[2]},
                                 .padding = padding};
  *output = {1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    std::optional<int64_t> more;
    if (extra.has_value()) more = (*extra)[axis];
    (*output)[axis] = TransposedLength(axis == 0 ? depth : plane, axis == 0 ? 0 : axis - 1,
                                       input[axis], more, config);
    if ((*output)[axis] == 0) return {};
  }
  // Several output sizes can map to the same input size. The chosen one must map back to the actual
  // input.
  const VolumeWindow window = {.depth = SlideWindow(depth, {(*output)[0], 1}, config),
                               .plane = SlideWindow(plane, {(*output)[1], (*output)[2]}, config)};
  if (window.output() != Shape(input.begin(), input.begin() + 3)) {
    config.FailArgument("output_padding",
                        absl::StrCat("gives an output of ", ShapeText(*output),
                                     "; a convolution of that size does not have an output of ",
                                     ShapeText({input[0], input[1], input[2]})));
  }
  return window;
}

}  // namespace

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

absl::StatusOr<std::unique_ptr<const Layer>> Conv3DLayer::CreateTransposed(LayerConfig& config) {
  const Shape input = config.FloatInput(4, 4).shape;
  config.ExpectChannelsLast();
  const int64_t filters = config.Int("filters", std::nullopt, 1);
  TensorSpec output;
  const VolumeWindow window = ReadTransposedWindow(input, &output.shape, config);
  output.shape.push_back(filters);
  if (config.Int("groups", 1, 1) != 1) config.FailArgument("groups", "must be 1");
  Shape shape = window.size();
  shape.insert(shape.end(), {filters, input[3]});
  std::vector<LayerVariable> variables = {
      config.Variable("kernel", std::move(shape), "glorot_uniform")};
  const Activation activation = config.ActivationNamed("activation");
  const bool use_bias = config.Bool("use_bias", true);
  // Created even if unused, because Keras writes the bias's arguments in any case.
  LayerVariable bias = config.Variable("bias", {filters}, "zeros");
  if (use_bias) variables.push_back(std::move(bias));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new Conv3DLayer(config.base(), std::move(output), std::move(variables), window, activation));
}

}  // namespace cairn::nn
