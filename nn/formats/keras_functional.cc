#include "nn/formats/keras_functional.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/called_layers.h"
#include "nn/formats/inbound_nodes.h"
#include "nn/formats/topological_order.h"

namespace cairn::nn {
namespace {

// Keras 3 writes the layers that compute a mask; here masks follow from the layers (see
// Layer::makes_mask and mask_merge). That of Masking is an Any of a NotEqual. Attention passes its
// mask through a ConvertToTensor. Merging layers combine masks with LogicalOr; a Concatenate first
// gives them the shapes of its inputs, and concatenates them.
bool IsMaskMaker(const nlohmann::json& layer) {
  static const auto* const kMakers = new std::set<std::string>{
      "Any", "ConvertToTensor", "ExpandDims", "LogicalOr", "NotEqual", "OnesLike", "ZerosLike"};
  const auto name = layer.find("class_name");
  if (name == layer.end() || !name->is_string()) return false;
  if (name->get<std::string>() != "Concatenate")
    return kMakers->count(name->get<std::string>()) > 0;
  static const nlohmann::json::json_pointer dtype("/inbound_nodes/0/args/0/0/config/dtype");
  return layer.contains(dtype) && layer.at(dtype) == "bool";
}

// Keras 3 writes the default of `training`. In a fit or predict it has no effect.
void DropDefaults(const std::string& class_name, CalledLayer* layer) {
  static const auto* const trained = new std::set<std::string>{
      "CenterCrop",        "RandomBrightness", "RandomContrast", "RandomCrop",     "RandomErasing",
      "RandomFlip",        "RandomGrayscale",  "RandomInvert",   "RandomRotation", "RandomShear",
      "RandomTranslation", "RandomZoom",       "Rescaling",      "Resizing",       "Solarization"};
  static const auto* const not_trained = new std::set<std::string>{"AdditiveAttention",
                                                                   "AlphaDropout",
                                                                   "Attention",
                                                                   "ConvLSTM1D",
                                                                   "ConvLSTM2D",
                                                                   "ConvLSTM3D",
                                                                   "Dropout",
                                                                   "GRU",
                                                                   "GaussianDropout",
                                                                   "GaussianNoise",
                                                                   "LSTM",
                                                                   "RNN",
                                                                   "SimpleRNN",
                                                                   "SpatialDropout1D",
                                                                   "SpatialDropout2D",
                                                                   "SpatialDropout3D"};
  for (LayerCall& call : layer->calls) {
    if (trained->contains(class_name)) call.always_trains = false;
    if (call.has_defaults && not_trained->contains(class_name)) call.inference_only = false;
  }
}

absl::Status CheckCalls(const CalledLayer& layer, const JsonNode& inbound) {
  const bool is_input = layer.body.layers(0).class_name() == "InputLayer" && !layer.is_model;
  if (is_input && !layer.calls.empty()) {
    return inbound.Error(absl::StrCat("InputLayer '", layer.name, "' has inputs"));
  }
  for (const LayerCall& call : layer.calls) {
    if (!call.always_trains) continue;
    return inbound.Error(absl::StrCat("layer '", layer.name, "' is called with training=True"));
  }
  bool has_inputs = !layer.calls.empty();
  for (const LayerCall& call : layer.calls) has_inputs = has_inputs && !call.inputs.empty();
  if (!is_input && !has_inputs) {
    return inbound.Error(absl::StrCat("layer '", layer.name, "' has no inputs"));
  }
  return absl::OkStatus();
}

absl::StatusOr<CalledLayer> ReadCalledLayer(const JsonNode& node, const ModelReader& read_model) {
  CAIRN_ASSIGN_OR_RETURN(CalledLayer layer, ReadLayerOrModel(node, read_model));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode inbound, node.Member("inbound_nodes"));
  CAIRN_ASSIGN_OR_RETURN(layer.calls, ReadInboundNodes(inbound));
  const auto class_name = node.json().find("class_name");
  if (class_name != node.json().end() && class_name->is_string()) {
    DropDefaults(class_name->get<std::string>(), &layer);
  }
  CAIRN_RETURN_IF_ERROR(CheckCalls(layer, inbound));
  // An InputLayer has no call in the file.
  if (layer.calls.empty()) layer.calls.emplace_back();
  return layer;
}

absl::Status ReadInputs(const JsonNode& node, proto::ModelSpec* spec) {
  CAIRN_ASSIGN_OR_RETURN(const auto tensors, ReadConnections(node));
  if (tensors.empty()) return node.Error("the model has no inputs");
  std::set<std::string> names;
  for (const proto::LayerSpec& layer : spec->layers()) {
    if (layer.class_name() == "InputLayer") names.insert(layer.name());
  }
  for (const TensorName& tensor : tensors) {
    if (names.count(tensor.layer) == 0) {
      return node.Error(absl::StrCat("there is no InputLayer '", tensor.layer, "'"));
    }
    spec->add_inputs(tensor.layer);
  }
  return absl::OkStatus();
}

// The tensor that a NotEqual compares with a number, [LAYER, CALL, OUTPUT]; null for other layers.
nlohmann::json Compared(const nlohmann::json& layer) {
  static const nlohmann::json::json_pointer tensor("/inbound_nodes/0/args/0/config/keras_history");
  return layer.at("class_name") == "NotEqual" && layer.contains(tensor) ? layer.at(tensor)
                                                                        : nullptr;
}

// True if a layer makes the mask of the steps in which `tensor` differs from a number.
bool IsMasked(const nlohmann::json& tensor, const std::vector<CalledLayer>& called) {
  const auto takes_it = [&](const LayerCall& call) {
    return absl::c_any_of(call.inputs, [&](const TensorName& input) {
      return tensor == nlohmann::json::array({input.layer, input.call, input.output});
    });
  };
  return absl::c_any_of(called, [&](const CalledLayer& layer) {
    const proto::LayerSpec& first = layer.body.layers(0);
    const auto mask_zero = first.config().fields().find("mask_zero");
    const bool masks =
        first.class_name() == "Masking" ||
        (mask_zero != first.config().fields().end() && mask_zero->second.bool_value());
    return masks && !layer.is_model && absl::c_any_of(layer.calls, takes_it);
  });
}

// Reads all layers. Layers that compute masks are dropped; a use of their output other than as a
// mask is an error.
absl::StatusOr<std::vector<CalledLayer>> ReadCalledLayers(const JsonNode& layers,
                                                          const ModelReader& read_model) {
  CAIRN_ASSIGN_OR_RETURN(const auto nodes, layers.Elements());
  std::vector<CalledLayer> called;
  std::set<std::string> mask_makers;
  std::map<std::string, nlohmann::json> compared;  // By the name of the NotEqual.
  for (const JsonNode& node : nodes) {
    if (IsMaskMaker(node.json())) {
      CAIRN_ASSIGN_OR_RETURN(const JsonNode config, node.Member("config"));
      CAIRN_ASSIGN_OR_RETURN(const JsonNode name, config.Member("name"));
      if (!name.json().is_string()) return name.Error("is no text");
      mask_makers.insert(name.json().get<std::string>());
      if (auto tensor = Compared(node.json()); !tensor.is_null()) {
        compared[name.json().get<std::string>()] = std::move(tensor);
      }
      continue;
    }
    CAIRN_ASSIGN_OR_RETURN(called.emplace_back(), ReadCalledLayer(node, read_model));
  }
  for (const auto& [name, tensor] : compared) {
    if (!IsMasked(tensor, called)) mask_makers.erase(name);
  }
  for (const CalledLayer& layer : called) {
    for (const LayerCall& call : layer.calls) {
      for (const TensorName& mask : call.masks) {
        if (mask_makers.count(mask.layer) > 0) continue;
        return layers.Error(absl::StrCat("layer '", layer.name, "' is called with a mask from '",
                                         mask.layer,
                                         "'; only what mask_zero and Masking make is supported"));
      }
    }
  }
  return called;
}

}  // namespace

absl::StatusOr<proto::ModelSpec> ReadKerasFunctional(const JsonNode& model,
                                                     const ModelReader& read_model) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode config, model.Member("config"));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode layers, config.Member("layers"));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode inputs, config.Member("input_layers"));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode outputs, config.Member("output_layers"));
  CAIRN_ASSIGN_OR_RETURN(const auto called, ReadCalledLayers(layers, read_model));
  CAIRN_ASSIGN_OR_RETURN(const auto ends, ReadConnections(outputs));
  if (ends.empty()) return outputs.Error("the model has no outputs");
  proto::ModelSpec spec;
  CAIRN_RETURN_IF_ERROR(ExpandCalls(called, ends, &spec));
  if (absl::Status status = SortTopologically(&spec); !status.ok()) {
    return layers.Error(std::string(status.message()));
  }
  CAIRN_RETURN_IF_ERROR(ReadInputs(inputs, &spec));
  return spec;
}

}  // namespace cairn::nn
