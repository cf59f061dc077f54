#include "nn/layers/score_attention.h"

#include <string>

#include "common/status_macros.h"

namespace cairn::nn {

absl::StatusOr<std::unique_ptr<const Layer>> ScoreAttentionLayer::Create(LayerConfig& config) {
  const std::vector<TensorSpec>& inputs = config.FloatInputs(2);
  const bool is_additive = config.class_name() == "AdditiveAttention";
  Arguments arguments;
  if (is_additive) {
    arguments.score = Score::kAdditive;
  } else if (config.Choice("score_mode", {"dot", "concat"}) == "concat") {
    arguments.score = Score::kConcat;
  }
  arguments.use_scale = config.Bool("use_scale", is_additive);
  arguments.dropout = config.Number("dropout", 0, 0, 1);
  if (arguments.dropout == 1) config.FailArgument("dropout", "must be smaller than 1");
  // In Keras an argument of the call, not of the layer; the reader moves it here.
  arguments.is_causal = config.Bool("use_causal_mask", false);
  config.Ignore({"seed"});  // Draws depend on the job's seed.
  bool fits = inputs.size() == 2 || inputs.size() == 3;
  for (const TensorSpec& input : inputs) fits = fits && input.shape.size() == 2;
  fits = fits && inputs[0].shape[1] == inputs.back().shape[1] &&
         inputs[1].shape[0] == inputs.back().shape[0];
  if (!fits) {
    config.Fail(
        "takes a query, a value and perhaps a key, of (steps, width) each, value and key with as "
        "many steps, query and key of the same width");
    return config.Finish();
  }
  std::vector<LayerVariable> variables;
  if (arguments.use_scale) {
    variables.push_back(is_additive
                            ? config.Variable("scale", {inputs[0].shape[1]}, "glorot_uniform")
                            : config.Variable("scale", {}, "ones"));
  }
  if (arguments.score == Score::kConcat) {
    variables.push_back(config.Variable("concat_score_weight", {}, "ones"));
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new ScoreAttentionLayer(config.base(), {.shape = {inputs[0].shape[0], inputs[1].shape[1]}},
                              std::move(variables), arguments));
}

}  // namespace cairn::nn
