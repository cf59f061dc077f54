#include "nn/formats/keras_layer.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/struct_json.h"
#include "nn/layers/layer_output.h"

namespace cairn::nn {
namespace {

using google::protobuf::Value;

constexpr char kDefaultDtype[] = "float32";

// A name, or a policy object: {"class_name": "DTypePolicy", "config": {"name": "float32"}}.
absl::StatusOr<std::string> DtypeOf(const JsonNode& config) {
  const std::optional<JsonNode> dtype = config.Find("dtype");
  if (!dtype.has_value()) return std::string(kDefaultDtype);
  if (!dtype->json().is_object()) return dtype->String();
  CAIRN_ASSIGN_OR_RETURN(const JsonNode policy, dtype->Member("config"));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode name, policy.Member("name"));
  return name.String();
}

// Checks an InputLayer's arguments. Unknown ones are accepted only if they are null or false.
absl::Status CheckInputArguments(const JsonNode& config) {
  const std::set<std::string> known = {"name", "batch_shape", "batch_input_shape", "dtype",
                                       "trainable"};
  for (const auto& [key, value] : config.Members()) {
    const bool says_nothing = value.json().is_null() || value.json() == false;
    if (known.count(key) == 0 && !says_nothing) {
      return value.Error("is not supported for an InputLayer");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<proto::LayerSpec> ReadInputLayer(const std::string& name, const JsonNode& config) {
  CAIRN_RETURN_IF_ERROR(CheckInputArguments(config));
  const std::optional<JsonNode> shape = StatedInputShape(config);
  if (!shape.has_value()) return config.Error("has no 'batch_shape'");
  CAIRN_ASSIGN_OR_RETURN(const std::string dtype, DtypeOf(config));
  return MakeInputLayer(name, *shape, dtype);
}

// True for arguments that the dialect omits; see ReadKerasJson.
bool IsLeftOut(const std::string& key, const JsonNode& value) {
  static constexpr const char* kElsewhere[] = {"name", "dtype", "batch_shape", "batch_input_shape",
                                               "input_shape"};
  for (const char* elsewhere : kElsewhere) {
    if (key == elsewhere) return true;
  }
  // For these, null is not the default.
  if (absl::EndsWith(key, "_initializer") || key == "merge_mode") return false;
  return value.json().is_null();
}

absl::Status ReadArguments(const JsonNode& config, proto::LayerSpec* layer) {
  auto& fields = *layer->mutable_config()->mutable_fields();
  for (const auto& [key, value] : config.Members()) {
    if (IsLeftOut(key, value)) continue;
    CAIRN_ASSIGN_OR_RETURN(fields[key], ValueFromJson(value));
  }
  // Keras 2 writes the one axis of a BatchNormalization as a list.
  if (auto axis = fields.find("axis");
      axis != fields.end() && axis->second.list_value().values_size() == 1) {
    const Value only = axis->second.list_value().values(0);
    axis->second = only;
  }
  return absl::OkStatus();
}

absl::Status CheckDimension(const JsonNode& node, const Value& value) {
  if (value.has_null_value()) return absl::OkStatus();
  const double size = value.number_value();
  constexpr double kLargest = std::numeric_limits<int32_t>::max();
  if (value.kind_case() == Value::kNumberValue && size == std::floor(size) && size >= 1 &&
      size <= kLargest) {
    return absl::OkStatus();
  }
  return node.Error(absl::StrCat(
      node.json().dump(), " has a dimension that is neither null nor a whole number from 1 to ",
      std::numeric_limits<int32_t>::max()));
}

absl::StatusOr<std::string> NameOf(const JsonNode& node, const JsonNode& config) {
  std::optional<JsonNode> name = node.Find("name");
  if (!name.has_value()) name = config.Find("name");
  if (!name.has_value()) return config.Error("has no 'name'");
  CAIRN_ASSIGN_OR_RETURN(std::string text, name->String());
  if (text.empty()) return name->Error("is empty");
  return text;
}

bool IsModel(const std::string& class_name, const JsonNode& config) {
  return class_name == "Sequential" || class_name == "Functional" || class_name == "Model" ||
         config.Find("layers").has_value();
}

// The cells of an RNN whose cell is a StackedRNNCells; null for another layer.
const google::protobuf::ListValue* StackedCells(const proto::LayerSpec& layer) {
  const auto cell = layer.config().fields().find("cell");
  if (layer.class_name() != "RNN" || cell == layer.config().fields().end()) return nullptr;
  const auto& fields = cell->second.struct_value().fields();
  const auto class_name = fields.find("class_name");
  const auto config = fields.find("config");
  if (class_name == fields.end() || class_name->second.string_value() != "StackedRNNCells" ||
      config == fields.end()) {
    return nullptr;
  }
  const auto cells = config->second.struct_value().fields().find("cells");
  const bool is_list = cells != config->second.struct_value().fields().end() &&
                       !cells->second.list_value().values().empty();
  return is_list ? &cells->second.list_value() : nullptr;
}

// A masked step changes no state, so the RNNs below the last one may return any output for it.
proto::ModelSpec ExpandCells(const proto::LayerSpec& layer,
                             const google::protobuf::ListValue& cells) {
  proto::ModelSpec body;
  proto::LayerSpec& input = *body.add_layers();
  input.set_name(absl::StrCat(layer.name(), ":input"));
  input.set_class_name("InputLayer");
  body.add_inputs(input.name());
  body.set_sequential(true);
  std::set<std::string> taken = {input.name()};
  for (int i = 0; i < cells.values_size(); ++i) {
    const std::string below = body.layers(i).name();
    proto::LayerSpec& rnn = *body.add_layers();
    rnn = layer;
    auto& arguments = *rnn.mutable_config()->mutable_fields();
    arguments["cell"] = cells.values(i);
    const auto& cell = cells.values(i).struct_value().fields();
    std::string name =
        cell.contains("config") && cell.at("config").struct_value().fields().contains("name")
            ? cell.at("config").struct_value().fields().at("name").string_value()
            : "";
    if (name.empty()) name = absl::StrCat(layer.name(), ":cell");
    while (!taken.insert(name).second) name += "_";
    rnn.set_name(name);
    rnn.add_inputs(below);
    // The steps are reversed once. The mask that passes through the first layer is not.
    if (i > 0 && arguments.erase("go_backwards") > 0 &&
        layer.config().fields().at("go_backwards").bool_value()) {
      arguments["reverses_mask"].set_bool_value(true);
    }
    if (i + 1 < cells.values_size()) {
      arguments["return_sequences"].set_bool_value(true);
      arguments.erase("activity_regularizer");
    }
  }
  body.add_outputs(body.layers(cells.values_size()).name());
  return body;
}

}  // namespace

std::optional<JsonNode> StatedInputShape(const JsonNode& config) {
  for (const char* key : {"batch_shape", "batch_input_shape", "build_input_shape"}) {
    if (std::optional<JsonNode> shape = config.Find(key); shape.has_value()) return shape;
  }
  return std::nullopt;
}

absl::StatusOr<proto::LayerSpec> MakeInputLayer(const std::string& name,
                                                const JsonNode& batch_shape,
                                                const std::string& dtype) {
  if (dtype != "float32" && dtype != "int32" && dtype != "int64" && dtype != "uint8" &&
      dtype != "string") {
    return batch_shape.Error(absl::StrCat("input '", name, "' is of dtype '", dtype,
                                          "'; known: float32, int32, int64, uint8, string"));
  }
  CAIRN_ASSIGN_OR_RETURN(Value shape, ValueFromJson(batch_shape));
  if (shape.list_value().values().empty()) {
    return batch_shape.Error("is not a shape: a list, the batch axis (null) first");
  }
  for (const Value& dimension : shape.list_value().values()) {
    CAIRN_RETURN_IF_ERROR(CheckDimension(batch_shape, dimension));
  }
  shape.mutable_list_value()->mutable_values(0)->set_null_value(google::protobuf::NULL_VALUE);
  proto::LayerSpec layer;
  layer.set_name(name);
  layer.set_class_name("InputLayer");
  auto& fields = *layer.mutable_config()->mutable_fields();
  fields["batch_shape"] = std::move(shape);
  fields["dtype"].set_string_value(dtype);
  return layer;
}

absl::StatusOr<proto::LayerSpec> ReadKerasLayer(const JsonNode& node) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode class_node, node.Member("class_name"));
  CAIRN_ASSIGN_OR_RETURN(const std::string class_name, class_node.String());
  CAIRN_ASSIGN_OR_RETURN(const JsonNode config, node.Member("config"));
  if (IsModel(class_name, config)) {
    return node.Error(absl::StrCat("layer '", NameOf(node, config).value_or(""),
                                   "' is itself a model (", class_name, ")"));
  }
  if (!config.json().is_object()) return config.Error("is not an object");
  CAIRN_ASSIGN_OR_RETURN(const std::string name, NameOf(node, config));
  if (class_name == kLayerOutput) {
    return node.Error(
        absl::StrCat("layer '", name, "' is a ", kLayerOutput, ", which Keras does not have"));
  }
  if (class_name == "InputLayer") return ReadInputLayer(name, config);
  CAIRN_ASSIGN_OR_RETURN(const std::string dtype, DtypeOf(config));
  // A mixed policy has variables of float32. Job.precision says how products are computed.
  if (dtype != kDefaultDtype && dtype != "mixed_float16" && dtype != "mixed_bfloat16") {
    return config.Error(
        absl::StrCat("layer '", name, "' has dtype '", dtype, "'; only float32 is supported"));
  }
  proto::LayerSpec layer;
  layer.set_name(name);
  layer.set_class_name(class_name);
  CAIRN_RETURN_IF_ERROR(ReadArguments(config, &layer));
  return layer;
}

absl::StatusOr<CalledLayer> ReadLayerOrModel(const JsonNode& node, const ModelReader& read_model) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode class_node, node.Member("class_name"));
  CAIRN_ASSIGN_OR_RETURN(const std::string class_name, class_node.String());
  CAIRN_ASSIGN_OR_RETURN(const JsonNode config, node.Member("config"));
  CalledLayer layer;
  layer.place = node.path();
  layer.is_model = IsModel(class_name, config);
  if (layer.is_model) {
    CAIRN_ASSIGN_OR_RETURN(layer.body, read_model(node));
    CAIRN_ASSIGN_OR_RETURN(layer.name, NameOf(node, config));
    return layer;
  }
  CAIRN_ASSIGN_OR_RETURN(const proto::LayerSpec read, ReadKerasLayer(node));
  layer.name = read.name();
  if (const auto* const cells = StackedCells(read)) {
    if (ReturnsStates(read)) {
      return node.Error(absl::StrCat("layer '", layer.name,
                                     "' has return_state, which is not supported for a stack of "
                                     "cells: use an RNN for each cell"));
    }
    layer.is_model = true;
    layer.body = ExpandCells(read, *cells);
    return layer;
  }
  *layer.body.add_layers() = read;
  layer.body.add_outputs(layer.name);
  return layer;
}

}  // namespace cairn::nn
