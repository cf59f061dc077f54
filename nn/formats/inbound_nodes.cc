#include "nn/formats/inbound_nodes.h"

#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

absl::StatusOr<TensorName> ReadTensorName(const JsonNode& node) {
  CAIRN_ASSIGN_OR_RETURN(const auto parts, node.Elements());
  if (parts.size() < 3 || parts.size() > 4) {
    return node.Error("is not a connection: [layer, call, output]");
  }
  TensorName tensor;
  CAIRN_ASSIGN_OR_RETURN(tensor.layer, parts[0].String());
  CAIRN_ASSIGN_OR_RETURN(tensor.call, parts[1].Integer());
  CAIRN_ASSIGN_OR_RETURN(tensor.output, parts[2].Integer());
  if (tensor.call < 0 || tensor.output < 0) return node.Error("has a negative number");
  return tensor;
}

// A Keras 3 tensor names its origin in keras_history. Keras 2 writes a tensor among a call's
// arguments as a connection.
absl::Status ReadTensors(const JsonNode& node, std::vector<TensorName>* tensors) {
  if (node.json().is_array()) {
    CAIRN_ASSIGN_OR_RETURN(const auto elements, node.Elements());
    if (!elements.empty() && elements[0].json().is_string()) {
      CAIRN_ASSIGN_OR_RETURN(tensors->emplace_back(), ReadTensorName(node));
      return absl::OkStatus();
    }
    for (const JsonNode& element : elements) {
      const bool is_nested =
          element.json().is_array() && !element.json().empty() && !element.json()[0].is_string();
      if (is_nested) return element.Error("nested lists are not supported");
      CAIRN_RETURN_IF_ERROR(ReadTensors(element, tensors));
    }
    return absl::OkStatus();
  }
  const std::optional<JsonNode> config = node.Find("config");
  const std::optional<JsonNode> history =
      config.has_value() ? config->Find("keras_history") : std::nullopt;
  if (!history.has_value()) return node.Error("is not a tensor: it has no 'keras_history'");
  CAIRN_ASSIGN_OR_RETURN(tensors->emplace_back(), ReadTensorName(*history));
  return absl::OkStatus();
}

absl::Status ReadCallArgument(const std::string& name, const JsonNode& value, LayerCall* call) {
  if (value.json().is_null()) return absl::OkStatus();
  if (name == "training" && value.json() == false) {
    call->inference_only = true;
    return absl::OkStatus();
  }
  if (name == "training" && value.json() == true) {
    call->always_trains = true;
    return absl::OkStatus();
  }
  if ((name == "use_causal_mask" || name == "return_attention_scores") && value.json() == true) {
    call->flags.insert(name);
    return absl::OkStatus();
  }
  if (value.json() == false) return absl::OkStatus();
  if (name == "value" || name == "key" || name == "initial_state")
    return ReadTensors(value, &call->inputs);
  if (name == "attention_mask") {
    call->flags.insert(name);
    return ReadTensors(value, &call->inputs);
  }
  if (name == "mask" || absl::EndsWith(name, "_mask")) return ReadTensors(value, &call->masks);
  return value.Error(absl::StrCat("call argument '", name, "' is not supported"));
}

absl::Status ReadCallArguments(const JsonNode& arguments, LayerCall* call) {
  // The order in LayerCall::inputs, whatever it is in the file.
  const char* const ordered[] = {"value", "key", "attention_mask"};
  for (const char* const name : ordered) {
    if (const auto value = arguments.Find(name); value.has_value()) {
      CAIRN_RETURN_IF_ERROR(ReadCallArgument(name, *value, call));
    }
  }
  for (const auto& [name, value] : arguments.Members()) {
    if (absl::c_linear_search(ordered, name)) continue;
    CAIRN_RETURN_IF_ERROR(ReadCallArgument(name, value, call));
  }
  return absl::OkStatus();
}

absl::StatusOr<LayerCall> ReadKeras2Call(const JsonNode& node) {
  LayerCall call;
  CAIRN_ASSIGN_OR_RETURN(call.inputs, ReadConnections(node));
  CAIRN_ASSIGN_OR_RETURN(auto connections, node.Elements());
  if (!connections.empty() && connections[0].json().is_string()) connections = {node};
  for (const JsonNode& connection : connections) {
    CAIRN_ASSIGN_OR_RETURN(const auto parts, connection.Elements());
    if (parts.size() == 4) CAIRN_RETURN_IF_ERROR(ReadCallArguments(parts[3], &call));
  }
  return call;
}

absl::StatusOr<LayerCall> ReadKeras3Call(const JsonNode& node) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode args, node.Member("args"));
  CAIRN_ASSIGN_OR_RETURN(const auto elements, args.Elements());
  LayerCall call;
  call.has_defaults = true;
  for (const JsonNode& element : elements) {
    if (element.json().is_null()) continue;
    CAIRN_RETURN_IF_ERROR(ReadTensors(element, &call.inputs));
  }
  if (const auto kwargs = node.Find("kwargs"); kwargs.has_value()) {
    CAIRN_RETURN_IF_ERROR(ReadCallArguments(*kwargs, &call));
    const auto states = kwargs->Find("initial_state");
    const bool has_states = (elements.size() > 1 && !elements[1].json().is_null()) ||
                            (states.has_value() && !states->json().is_null());
    call.ignores_mask = has_states && call.masks.empty();
  }
  return call;
}

}  // namespace

absl::StatusOr<std::vector<TensorName>> ReadConnections(const JsonNode& node) {
  if (node.json().is_object()) {
    return node.Error("tensors in a dictionary have no order; give the model a list of them");
  }
  CAIRN_ASSIGN_OR_RETURN(const auto elements, node.Elements());
  std::vector<TensorName> tensors;
  if (!elements.empty() && elements[0].json().is_string()) {
    CAIRN_ASSIGN_OR_RETURN(tensors.emplace_back(), ReadTensorName(node));
    return tensors;
  }
  for (const JsonNode& element : elements) {
    CAIRN_ASSIGN_OR_RETURN(tensors.emplace_back(), ReadTensorName(element));
  }
  return tensors;
}

absl::StatusOr<std::vector<LayerCall>> ReadInboundNodes(const JsonNode& node) {
  CAIRN_ASSIGN_OR_RETURN(const auto nodes, node.Elements());
  std::vector<LayerCall> calls;
  for (const JsonNode& call : nodes) {
    CAIRN_ASSIGN_OR_RETURN(calls.emplace_back(),
                           call.json().is_object() ? ReadKeras3Call(call) : ReadKeras2Call(call));
  }
  return calls;
}

}  // namespace cairn::nn
