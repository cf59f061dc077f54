#include "nn/formats/keras_sequential.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/keras_layer.h"

namespace cairn::nn {
namespace {

// Before version 2.2.3 of Keras the config of a Sequential was its list of layers.
absl::StatusOr<std::vector<JsonNode>> LayersOf(const JsonNode& config) {
  if (config.json().is_array()) return config.Elements();
  CAIRN_ASSIGN_OR_RETURN(const JsonNode layers, config.Member("layers"));
  return layers.Elements();
}

// The shape that a model without InputLayer begins with: its first layer's, or what Keras 3 wrote
// of the model when it was built.
std::optional<JsonNode> InputShapeOf(const JsonNode& model, const JsonNode& config,
                                     const JsonNode& first_layer) {
  if (const auto first_config = first_layer.Find("config"); first_config.has_value()) {
    if (auto shape = StatedInputShape(*first_config); shape.has_value()) return shape;
  }
  if (auto shape = StatedInputShape(config); shape.has_value()) return shape;
  const std::optional<JsonNode> build = model.Find("build_config");
  return build.has_value() ? build->Find("input_shape") : std::nullopt;
}

absl::StatusOr<proto::LayerSpec> InputFor(const JsonNode& model, const JsonNode& config,
                                          const JsonNode& first_layer,
                                          const proto::LayerSpec& first) {
  const std::optional<JsonNode> shape = InputShapeOf(model, config, first_layer);
  if (!shape.has_value()) {
    return first_layer.Error(absl::StrCat("the model has no input shape: give layer '",
                                          first.name(),
                                          "' an input_shape, or put an InputLayer before it"));
  }
  // Ids are whole numbers, also where Keras leaves the type of an Embedding's input open.
  const char* dtype = first.class_name() == "Embedding" ? "int32" : "float32";
  return MakeInputLayer(absl::StrCat(first.name(), "_input"), *shape, dtype);
}

}  // namespace

absl::StatusOr<proto::ModelSpec> ReadKerasSequential(const JsonNode& model) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode config, model.Member("config"));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<JsonNode> nodes, LayersOf(config));
  proto::ModelSpec spec;
  spec.set_sequential(true);
  for (const JsonNode& node : nodes) {
    CAIRN_ASSIGN_OR_RETURN(proto::LayerSpec layer, ReadKerasLayer(node));
    const bool is_input = layer.class_name() == "InputLayer";
    const bool is_first = spec.layers().empty();
    if (is_input && !is_first) {
      return node.Error(absl::StrCat("InputLayer '", layer.name(), "' is not the first layer"));
    }
    if (is_first && !is_input) {
      CAIRN_ASSIGN_OR_RETURN(*spec.add_layers(), InputFor(model, config, node, layer));
    }
    if (!spec.layers().empty()) layer.add_inputs(spec.layers().rbegin()->name());
    *spec.add_layers() = std::move(layer);
  }
  if (spec.layers_size() < 2) return config.Error("the model has no layers");
  spec.add_inputs(spec.layers(0).name());
  spec.add_outputs(spec.layers().rbegin()->name());
  return spec;
}

}  // namespace cairn::nn
