#include "nn/formats/tfjs_topology.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/tfjs_layer_config.h"
#include "nn/layers/layer_output.h"
#include "nn/model.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

// The Keras version of the format; readers use it to select their parser.
constexpr char kKerasVersion[] = "2.15.0";

// The connection [LAYER, CALL, OUTPUT] of each layer's output. A layer that shares another one's
// variables is a further call of it.
using Connections = std::map<std::string, json>;

Connections ConnectionsOf(const proto::ModelSpec& spec) {
  Connections connections;
  std::map<std::string, int> calls;
  for (const proto::LayerSpec& layer : spec.layers()) {
    if (layer.class_name() == kLayerOutput) {
      json& connection = connections[layer.name()] = connections.at(layer.inputs(0));
      connection[2] = static_cast<int>(layer.config().fields().at("output").number_value());
      continue;
    }
    const std::string& owner = layer.shares().empty() ? layer.name() : layer.shares();
    connections[layer.name()] = json::array({owner, calls[owner]++, 0});
  }
  return connections;
}

bool IsTrue(const proto::LayerSpec& layer, const char* argument) {
  const auto found = layer.config().fields().find(argument);
  return found != layer.config().fields().end() && found->second.bool_value();
}

// TF.js masks a layer with initial states, too. A merge of it ignores inputs without a mask, and a
// step is valid only if it is valid in all others.
absl::Status RefuseIgnoredMasks(const proto::ModelSpec& spec) {
  const proto::LayerSpec* ignores = nullptr;
  bool has_masks = false;
  for (const proto::LayerSpec& layer : spec.layers()) {
    if (IsTrue(layer, "ignores_mask")) ignores = &layer;
    has_masks = has_masks || layer.class_name() == "Masking" || IsTrue(layer, "mask_zero");
  }
  if (!has_masks) return absl::OkStatus();
  if (ignores != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "layer '", ignores->name(), "' (", ignores->class_name(),
        "): Keras 3 ignores the mask of a layer with initial states and TF.js does not, so the "
        "exported model would compute something else"));
  }
  CAIRN_ASSIGN_OR_RETURN(const auto model, Model::CreateForExport(spec));
  for (size_t i = 0; i < model->nodes().size(); ++i) {
    const Model::Node& node = model->nodes()[i];
    if (IsTrue(spec.layers(static_cast<int>(i)), "reverses_mask") && !node.masks.empty() &&
        node.masks[0] >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("layer '", node.layer->name(), "' (", node.layer->class_name(),
                       "): it was a cell of a stack that goes backwards over masked steps; the "
                       "export has a layer "
                       "for each cell, and TF.js would mask other steps in it"));
    }
    if (node.layer->mask_merge() == Layer::MaskMerge::kNone) continue;
    int masked = 0;
    for (const int input : node.inputs) masked += model->masks()[input] >= 0 ? 1 : 0;
    if (!node.writes_mask && (masked == 0 || masked == static_cast<int>(node.inputs.size()))) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "layer '", node.layer->name(), "' (", node.layer->class_name(),
        "): Keras 3 and TF.js merge the masks of its inputs in different ways, so the exported "
        "model would compute something else"));
  }
  return absl::OkStatus();
}

json Call(const proto::LayerSpec& layer, const Connections& connections) {
  json inputs = json::array();
  for (const std::string& input : layer.inputs()) {
    json connection = connections.at(input);
    connection.push_back(layer.infers() ? json{{"training", false}} : json::object());
    inputs.push_back(std::move(connection));
  }
  return inputs;
}

absl::StatusOr<json> Layers(const proto::ModelSpec& spec, const Connections& connections) {
  json layers = json::array();
  std::map<std::string, size_t> positions;
  for (const proto::LayerSpec& layer : spec.layers()) {
    if (layer.class_name() == kLayerOutput) continue;
    if (!layer.shares().empty()) {
      layers[positions.at(layer.shares())]["inbound_nodes"].push_back(Call(layer, connections));
      continue;
    }
    positions[layer.name()] = layers.size();
    json entry;
    entry["class_name"] = layer.class_name();
    CAIRN_ASSIGN_OR_RETURN(entry["config"], TfjsLayerConfig(layer));
    if (!spec.sequential()) {
      entry["name"] = layer.name();
      entry["inbound_nodes"] = json::array();
      if (!layer.inputs().empty()) entry["inbound_nodes"].push_back(Call(layer, connections));
    }
    layers.push_back(std::move(entry));
  }
  return layers;
}

}  // namespace

absl::StatusOr<json> TfjsTopology(const proto::ModelSpec& spec) {
  CAIRN_RETURN_IF_ERROR(RefuseIgnoredMasks(spec));
  json config;
  config["name"] = spec.name();
  const Connections connections = ConnectionsOf(spec);
  CAIRN_ASSIGN_OR_RETURN(config["layers"], Layers(spec, connections));
  if (!spec.sequential()) {
    config["input_layers"] = json::array();
    config["output_layers"] = json::array();
    for (const std::string& name : spec.inputs()) {
      config["input_layers"].push_back(connections.at(name));
    }
    for (const std::string& name : spec.outputs()) {
      config["output_layers"].push_back(connections.at(name));
    }
  }
  json topology;
  topology["class_name"] = spec.sequential() ? "Sequential" : "Model";
  topology["config"] = std::move(config);
  topology["keras_version"] = kKerasVersion;
  topology["backend"] = "cairn";
  return topology;
}

}  // namespace cairn::nn
