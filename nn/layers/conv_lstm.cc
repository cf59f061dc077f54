#include "nn/layers/conv_lstm.h"

#include <optional>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// Keeps 4 * filters within int64.
constexpr int64_t kFiltersMax = int64_t{1} << 24;

// Reads arguments that have no effect here, and those that are rejected unless they are off.
void ReadOptions(LayerConfig& config) {
  config.Ignore({"unroll", "seed", "zero_output_for_mask"});
  for (const char* argument : {"stateful", "return_state"}) {
    if (config.Bool(argument, false)) config.FailArgument(argument, "is not supported");
  }
  for (const char* argument : {"dropout", "recurrent_dropout"}) {
    if (config.Number(argument, 0) != 0) config.FailArgument(argument, "is not supported");
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> ConvLstmLayer::Create(LayerConfig& config) {
  const bool flat = absl::EndsWith(config.class_name(), "1D");
  const Shape& sequence = config.FloatInput(flat ? 3 : 4, flat ? 3 : 4).shape;
  config.ExpectChannelsLast();
  Arguments arguments;
  arguments.input = ImageOf(Shape(sequence.begin() + 1, sequence.end()));
  const int64_t filters = config.Int("filters", std::nullopt, 1, kFiltersMax);
  arguments.window = ReadWindow({.size_argument = "kernel_size",
                                 .size_required = true,
                                 .dilates = true,
                                 .one_dimension = flat},
                                arguments.input, config);
  arguments.output = {arguments.window.output[0], arguments.window.output[1], filters};
  arguments.recurrent_window =
      SlideWindow({.size = arguments.window.size, .padding = WindowArguments::Padding::kSame},
                  arguments.output, config);
  RecurrentPass& cell = arguments.cell;
  cell.kind = RecurrentPass::Kind::kLstm;
  cell.steps = sequence[0];
  cell.input_width = arguments.input[2];
  cell.units = filters;
  cell.activation = ReadCellActivation("activation", "tanh", config);
  cell.recurrent_activation = ReadCellActivation("recurrent_activation", "sigmoid", config);
  cell.use_bias = config.Bool("use_bias", true);
  cell.goes_backwards = config.Bool("go_backwards", false);
  arguments.returns_sequences = config.Bool("return_sequences", false);
  const bool forgets = config.Bool("unit_forget_bias", true);
  ReadOptions(config);

  const auto kernel_shape = [&](int64_t channels) {
    return WithoutRow({arguments.window.size[0], arguments.window.size[1], channels, 4 * filters},
                      flat);
  };
  std::vector<LayerVariable> variables = {
      config.Variable("kernel", kernel_shape(arguments.input[2]), "glorot_uniform"),
      config.Variable("recurrent_kernel", kernel_shape(filters), "orthogonal", "recurrent")};
  LayerVariable bias = config.Variable("bias", {4 * filters}, "zeros");
  // Keras's unit_forget_bias: the forget gate's bias is 1, whatever the initializer of the rest.
  if (forgets) bias.spec.initializer.ones = {filters, 2 * filters};
  if (cell.use_bias) variables.push_back(std::move(bias));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  TensorSpec output{.shape = WithoutRow(arguments.output, flat)};
  if (arguments.returns_sequences) output.shape.insert(output.shape.begin(), cell.steps);
  return std::unique_ptr<const Layer>(new ConvLstmLayer(
      config.base(), std::move(output), std::move(variables), std::move(arguments)));
}

}  // namespace cairn::nn
