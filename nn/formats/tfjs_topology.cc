#include "nn/formats/tfjs_topology.h"

#include <nlohmann/json.hpp>
#include <string>

#include "common/status_macros.h"
#include "nn/formats/tfjs_layer_config.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

// The Keras whose words these are; readers use it to choose how to read.
constexpr char kKerasVersion[] = "2.15.0";

json Connection(const std::string& layer) { return json::array({layer, 0, 0}); }

json InboundNodes(const proto::LayerSpec& layer) {
  if (layer.inputs().empty()) return json::array();
  json inputs = json::array();
  for (const std::string& input : layer.inputs()) {
    json connection = Connection(input);
    connection.push_back(json::object());
    inputs.push_back(std::move(connection));
  }
  return json::array({std::move(inputs)});
}

absl::StatusOr<json> Layers(const proto::ModelSpec& spec) {
  json layers = json::array();
  for (const proto::LayerSpec& layer : spec.layers()) {
    json entry;
    entry["class_name"] = layer.class_name();
    CAIRN_ASSIGN_OR_RETURN(entry["config"], TfjsLayerConfig(layer));
    if (!spec.sequential()) {
      entry["name"] = layer.name();
      entry["inbound_nodes"] = InboundNodes(layer);
    }
    layers.push_back(std::move(entry));
  }
  return layers;
}

}  // namespace

absl::StatusOr<json> TfjsTopology(const proto::ModelSpec& spec) {
  json config;
  config["name"] = spec.name();
  CAIRN_ASSIGN_OR_RETURN(config["layers"], Layers(spec));
  if (!spec.sequential()) {
    config["input_layers"] = json::array();
    config["output_layers"] = json::array();
    for (const std::string& name : spec.inputs()) {
      config["input_layers"].push_back(Connection(name));
    }
    for (const std::string& name : spec.outputs()) {
      config["output_layers"].push_back(Connection(name));
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
