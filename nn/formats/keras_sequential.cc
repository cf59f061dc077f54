#include "nn/formats/keras_sequential.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/called_layers.h"

namespace cairn::nn {
namespace {

// Before Keras 2.2.3 the config of a Sequential was its list of layers.
absl::StatusOr<std::vector<JsonNode>> LayersOf(const JsonNode& config) {
  if (config.json().is_array()) return config.Elements();
  CAIRN_ASSIGN_OR_RETURN(const JsonNode layers, config.Member("layers"));
  return layers.Elements();
}

// The input shape of a model without InputLayer: that of its first layer, or the one that Keras 3
// records when the model is built.
std::optional<JsonNode> InputShapeOf(const JsonNode& model, const JsonNode& config,
                                     const JsonNode& first_layer) {
  if (const auto first_config = first_layer.Find("config"); first_config.has_value()) {
    if (auto shape = StatedInputShape(*first_config); shape.has_value()) return shape;
  }
  if (auto shape = StatedInputShape(config); shape.has_value()) return shape;
  const std::optional<JsonNode> build = model.Find("build_config");
  return build.has_value() ? build->Find("input_shape") : std::nullopt;
}

// Creates the InputLayer of a model that has none. If the first layer is a model, its InputLayer is
// copied.
absl::StatusOr<proto::LayerSpec> InputFor(const JsonNode& model, const JsonNode& config,
                                          const JsonNode& first_node, const CalledLayer& first) {
  if (first.is_model) {
    for (const proto::LayerSpec& layer : first.body.layers()) {
      if (!layer.config().fields().contains("batch_shape")) continue;
      proto::LayerSpec input = layer;
      input.set_name(absl::StrCat(first.name, "_input"));
      return input;
    }
  }
  const std::optional<JsonNode> shape = InputShapeOf(model, config, first_node);
  if (!shape.has_value()) {
    return first_node.Error(absl::StrCat("the model has no input shape: give layer '", first.name,
                                         "' an input_shape, or put an InputLayer before it"));
  }
  // The input of an Embedding is int32 ids, even if Keras leaves its type open.
  const bool takes_ids = first.body.layers(0).class_name() == "Embedding";
  return MakeInputLayer(absl::StrCat(first.name, "_input"), *shape,
                        takes_ids ? "int32" : "float32");
}

CalledLayer Only(proto::LayerSpec layer) {
  CalledLayer called;
  called.name = layer.name();
  *called.body.add_layers() = std::move(layer);
  called.body.add_outputs(called.name);
  return called;
}

// The output of the chain so far.
TensorName EndOf(const std::vector<CalledLayer>& chain) { return {.layer = chain.back().name}; }

bool IsInput(const CalledLayer& layer) {
  return !layer.is_model && layer.body.layers(0).class_name() == "InputLayer";
}

absl::StatusOr<std::vector<CalledLayer>> ReadChain(const JsonNode& model, const JsonNode& config,
                                                   const ModelReader& read_model) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<JsonNode> nodes, LayersOf(config));
  std::vector<CalledLayer> chain;
  for (const JsonNode& node : nodes) {
    CAIRN_ASSIGN_OR_RETURN(CalledLayer layer, ReadLayerOrModel(node, read_model));
    if (IsInput(layer) && !chain.empty()) {
      return node.Error(absl::StrCat("InputLayer '", layer.name, "' is not the first layer"));
    }
    if (layer.is_model && layer.body.outputs_size() != 1) {
      return node.Error(absl::StrCat("model '", layer.name, "' has ", layer.body.outputs_size(),
                                     " outputs; in a Sequential it may have one"));
    }
    if (!layer.is_model && ReturnsStates(layer.body.layers(0))) {
      return node.Error(absl::StrCat("layer '", layer.name,
                                     "' has return_state, and so several outputs; in a Sequential "
                                     "it may have one"));
    }
    if (chain.empty() && !IsInput(layer)) {
      CAIRN_ASSIGN_OR_RETURN(proto::LayerSpec input, InputFor(model, config, node, layer));
      chain.push_back(Only(std::move(input)));
      chain.back().calls.emplace_back();
    }
    layer.calls.emplace_back();
    if (!chain.empty()) layer.calls.back().inputs.push_back(EndOf(chain));
    chain.push_back(std::move(layer));
  }
  return chain;
}

}  // namespace

absl::StatusOr<proto::ModelSpec> ReadKerasSequential(const JsonNode& model,
                                                     const ModelReader& read_model) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode config, model.Member("config"));
  CAIRN_ASSIGN_OR_RETURN(const auto chain, ReadChain(model, config, read_model));
  if (chain.size() < 2) return config.Error("the model has no layers");
  proto::ModelSpec spec;
  CAIRN_RETURN_IF_ERROR(ExpandCalls(chain, {EndOf(chain)}, &spec));
  spec.set_sequential(true);
  for (const CalledLayer& layer : chain) {
    if (layer.is_model && !layer.body.sequential()) spec.set_sequential(false);
  }
  spec.add_inputs(chain.front().name);
  return spec;
}

}  // namespace cairn::nn
