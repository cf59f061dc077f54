#include "nn/formats/inbound_nodes.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// Keras 2 repeats call arguments such as {"training": false}; they would change what a layer does.
absl::Status CheckNoCallArguments(const JsonNode& arguments) {
  for (const auto& [name, value] : arguments.Members()) {
    if (value.json().is_null()) continue;
    return value.Error(absl::StrCat("call argument '", name, "' is not supported"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadConnection(const JsonNode& node) {
  CAIRN_ASSIGN_OR_RETURN(const auto parts, node.Elements());
  if (parts.size() < 3 || parts.size() > 4) {
    return node.Error("is not a connection: [layer, call, output]");
  }
  CAIRN_ASSIGN_OR_RETURN(std::string layer, parts[0].String());
  CAIRN_ASSIGN_OR_RETURN(const int64_t call, parts[1].Integer());
  CAIRN_ASSIGN_OR_RETURN(const int64_t output, parts[2].Integer());
  if (call != 0) {
    return parts[1].Error(
        absl::StrCat("is call ", call, " of layer '", layer, "'; shared layers are not supported"));
  }
  if (output != 0) {
    return parts[2].Error(
        absl::StrCat("is output ", output, " of layer '", layer, "'; layers have one output here"));
  }
  if (parts.size() == 4) CAIRN_RETURN_IF_ERROR(CheckNoCallArguments(parts[3]));
  return layer;
}

// A Keras 3 argument: a tensor, or a list of them.
absl::Status ReadTensors(const JsonNode& node, std::vector<std::string>* layers) {
  if (node.json().is_array()) {
    CAIRN_ASSIGN_OR_RETURN(const auto elements, node.Elements());
    for (const JsonNode& element : elements) {
      if (element.json().is_array()) return element.Error("nested lists are not supported");
      CAIRN_RETURN_IF_ERROR(ReadTensors(element, layers));
    }
    return absl::OkStatus();
  }
  const std::optional<JsonNode> config = node.Find("config");
  const std::optional<JsonNode> history =
      config.has_value() ? config->Find("keras_history") : std::nullopt;
  if (!history.has_value()) return node.Error("is not a tensor: it has no 'keras_history'");
  CAIRN_ASSIGN_OR_RETURN(layers->emplace_back(), ReadConnection(*history));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadKeras3Call(const JsonNode& call) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode args, call.Member("args"));
  CAIRN_ASSIGN_OR_RETURN(const auto elements, args.Elements());
  if (elements.size() != 1) {
    return args.Error(absl::StrCat("has ", elements.size(),
                                   " arguments; one (a tensor or a list of them) is supported"));
  }
  if (const auto kwargs = call.Find("kwargs"); kwargs.has_value()) {
    CAIRN_RETURN_IF_ERROR(CheckNoCallArguments(*kwargs));
  }
  std::vector<std::string> layers;
  CAIRN_RETURN_IF_ERROR(ReadTensors(elements[0], &layers));
  return layers;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadConnections(const JsonNode& node) {
  if (node.json().is_object()) {
    return node.Error("tensors in a dictionary have no order; give the model a list of them");
  }
  CAIRN_ASSIGN_OR_RETURN(const auto elements, node.Elements());
  std::vector<std::string> layers;
  if (!elements.empty() && elements[0].json().is_string()) {
    CAIRN_ASSIGN_OR_RETURN(layers.emplace_back(), ReadConnection(node));
    return layers;
  }
  for (const JsonNode& element : elements) {
    CAIRN_ASSIGN_OR_RETURN(layers.emplace_back(), ReadConnection(element));
  }
  return layers;
}

absl::StatusOr<std::vector<std::string>> ReadInboundNodes(const std::string& layer_name,
                                                          const JsonNode& node) {
  CAIRN_ASSIGN_OR_RETURN(const auto calls, node.Elements());
  if (calls.empty()) return std::vector<std::string>();
  if (calls.size() > 1) {
    return node.Error(absl::StrCat("layer '", layer_name, "' is called ", calls.size(),
                                   " times; shared layers are not supported"));
  }
  return calls[0].json().is_object() ? ReadKeras3Call(calls[0]) : ReadConnections(calls[0]);
}

}  // namespace cairn::nn
