#include "nn/layers/attention.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

constexpr int64_t kWidthMax = int64_t{1} << 20;

// True if each axis is 1 or that of the scores.
bool FitsScores(const Shape& mask, const Shape& scores) {
  bool fits = mask.size() == scores.size();
  for (size_t i = 0; fits && i < scores.size(); ++i) {
    fits = mask[i] == 1 || mask[i] == scores[i];
  }
  return fits;
}

}  // namespace

AttentionLayer::Arguments AttentionLayer::ReadArguments(LayerConfig& config) {
  Arguments arguments;
  arguments.heads = config.Int("num_heads", std::nullopt, 1, kWidthMax);
  arguments.key_width = config.Int("key_dim", std::nullopt, 1, kWidthMax);
  arguments.value_width = config.Int("value_dim", arguments.key_width, 1, kWidthMax);
  arguments.dropout = config.Number("dropout", 0, 0, 1);
  if (arguments.dropout == 1) config.FailArgument("dropout", "must be smaller than 1");
  arguments.use_bias = config.Bool("use_bias", true);
  // In Keras arguments of the call, not of the layer; the reader moves them here.
  arguments.is_causal = config.Bool("use_causal_mask", false);
  arguments.has_mask = config.Bool("attention_mask", false);
  // Only how Keras computes it is of interest here: the weights are no output.
  arguments.shows_weights = config.Bool("return_attention_scores", false);
  const std::vector<int64_t> axes =
      config.Ints("attention_axes", 1, 1).value_or(std::vector<int64_t>{1});
  if (axes.size() != 1) config.FailArgument("attention_axes", "must be the steps' axis, 1");
  if (config.Bool("use_gate", false)) config.FailArgument("use_gate", "is not supported");
  if (config.Has("sliding_window")) config.FailArgument("sliding_window", "is not supported");
  config.Ignore({"query_shape", "key_shape", "value_shape", "flash_attention", "seed"});
  return arguments;
}

absl::StatusOr<std::unique_ptr<const Layer>> AttentionLayer::Create(LayerConfig& config) {
  const Arguments arguments = ReadArguments(config);
  std::vector<TensorSpec> inputs = config.FloatInputs(arguments.has_mask ? 3 : 2);
  const TensorSpec mask = inputs.back();
  if (arguments.has_mask) inputs.pop_back();
  bool fits = inputs.size() == 2 || inputs.size() == 3;
  for (const TensorSpec& input : inputs) fits = fits && input.shape.size() == 2;
  if (fits && inputs.size() == 3) fits = inputs[1].shape[0] == inputs[2].shape[0];
  if (!fits) {
    config.Fail(
        "takes a query, a value and perhaps a key, of (steps, width) each, value and key "
        "with as many steps");
    return config.Finish();
  }
  const Shape scores = {arguments.heads, inputs[0].shape[0], inputs[1].shape[0]};
  if (arguments.has_mask && !FitsScores(WithHeads(mask.shape), scores)) {
    config.Fail(absl::StrCat("its attention_mask has shape ", ShapeText(mask.shape),
                             "; the scores have ", ShapeText(scores),
                             ", of which the mask may lack the heads, and have axes of length 1"));
    return config.Finish();
  }
  const int64_t width = inputs[0].shape[1];
  const std::vector<int64_t> output_width =
      config.Ints("output_shape", 1, kWidthMax).value_or(std::vector<int64_t>{width});
  if (output_width.size() != 1) config.FailArgument("output_shape", "must be one number");

  const int64_t heads = arguments.heads;
  const Shape kernels[] = {{width, heads, arguments.key_width},
                           {inputs.back().shape[1], heads, arguments.key_width},
                           {inputs[1].shape[1], heads, arguments.value_width},
                           {heads, arguments.value_width, output_width[0]}};
  const Shape biases[] = {{heads, arguments.key_width},
                          {heads, arguments.key_width},
                          {heads, arguments.value_width},
                          {output_width[0]}};
  const char* const names[] = {"query", "key", "value", "attention_output"};
  std::vector<LayerVariable> variables;
  for (int part = 0; part < 4; ++part) {
    const std::string name = names[part];
    variables.push_back(
        config.Variable(name + "/kernel", kernels[part], "glorot_uniform", "kernel"));
    // Created even if unused, because Keras writes the bias's arguments in any case.
    LayerVariable bias = config.Variable(name + "/bias", biases[part], "zeros", "bias");
    if (arguments.use_bias) variables.push_back(std::move(bias));
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new AttentionLayer(config.base(), {.shape = {inputs[0].shape[0], output_width[0]}},
                         std::move(variables), arguments));
}

}  // namespace cairn::nn
