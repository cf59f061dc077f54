#include "nn/formats/keras_functional.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/inbound_nodes.h"
#include "nn/formats/keras_layer.h"
#include "nn/formats/topological_order.h"

namespace cairn::nn {
namespace {

absl::StatusOr<proto::LayerSpec> ReadConnectedLayer(const JsonNode& node) {
  CAIRN_ASSIGN_OR_RETURN(proto::LayerSpec layer, ReadKerasLayer(node));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode inbound, node.Member("inbound_nodes"));
  CAIRN_ASSIGN_OR_RETURN(const auto inputs, ReadInboundNodes(layer.name(), inbound));
  const bool is_input = layer.class_name() == "InputLayer";
  if (is_input && !inputs.empty()) {
    return inbound.Error(absl::StrCat("InputLayer '", layer.name(), "' has inputs"));
  }
  if (!is_input && inputs.empty()) {
    return inbound.Error(absl::StrCat("layer '", layer.name(), "' has no inputs"));
  }
  for (const std::string& input : inputs) layer.add_inputs(input);
  return layer;
}

absl::StatusOr<proto::LayerSpec*> FindLayer(const JsonNode& node, const std::string& name,
                                            proto::ModelSpec* spec) {
  for (proto::LayerSpec& layer : *spec->mutable_layers()) {
    if (layer.name() == name) return &layer;
  }
  return node.Error(absl::StrCat("there is no layer '", name, "'"));
}

absl::Status ReadInputs(const JsonNode& node, proto::ModelSpec* spec) {
  CAIRN_ASSIGN_OR_RETURN(const auto names, ReadConnections(node));
  if (names.empty()) return node.Error("the model has no inputs");
  for (const std::string& name : names) {
    CAIRN_ASSIGN_OR_RETURN(const proto::LayerSpec* layer, FindLayer(node, name, spec));
    if (layer->class_name() != "InputLayer") {
      return node.Error(absl::StrCat("layer '", name, "' is no InputLayer"));
    }
    spec->add_inputs(name);
  }
  return absl::OkStatus();
}

absl::Status ReadOutputs(const JsonNode& node, proto::ModelSpec* spec) {
  CAIRN_ASSIGN_OR_RETURN(const auto names, ReadConnections(node));
  if (names.size() != 1) {
    return node.Error(
        absl::StrCat("the model has ", names.size(), " outputs; exactly one is supported"));
  }
  CAIRN_RETURN_IF_ERROR(FindLayer(node, names[0], spec).status());
  spec->add_outputs(names[0]);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<proto::ModelSpec> ReadKerasFunctional(const JsonNode& model) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode config, model.Member("config"));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode layers, config.Member("layers"));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode inputs, config.Member("input_layers"));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode outputs, config.Member("output_layers"));
  CAIRN_ASSIGN_OR_RETURN(const auto nodes, layers.Elements());
  proto::ModelSpec spec;
  for (const JsonNode& node : nodes) {
    CAIRN_ASSIGN_OR_RETURN(*spec.add_layers(), ReadConnectedLayer(node));
  }
  if (absl::Status status = SortTopologically(&spec); !status.ok()) {
    return layers.Error(std::string(status.message()));
  }
  CAIRN_RETURN_IF_ERROR(ReadInputs(inputs, &spec));
  CAIRN_RETURN_IF_ERROR(ReadOutputs(outputs, &spec));
  return spec;
}

}  // namespace cairn::nn
