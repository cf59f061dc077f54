#include "nn/formats/keras_weights.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/json_node.h"
#include "nn/formats/keras_topology.h"
#include "nn/layers/time_distributed.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

// An argument that is added to each layer. It survives the expansion of nested models and calls,
// which renames layers, and is removed afterwards.
constexpr char kPlaceArgument[] = "cairn_place";

// Keras's naming.to_snake_case: "Conv2DTranspose" is conv2d_transpose, "PReLU" p_re_lu.
std::string SnakeCase(const std::string& name) {
  std::string words;
  for (size_t i = 0; i < name.size();) {
    words += name[i++];
    const bool is_word =
        i + 1 < name.size() && absl::ascii_isupper(name[i]) && absl::ascii_islower(name[i + 1]);
    if (!is_word) continue;
    words += '_';
    words += name[i++];
    while (i < name.size() && absl::ascii_islower(name[i])) words += name[i++];
  }
  std::string snake;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && absl::ascii_islower(words[i - 1]) && absl::ascii_isupper(words[i])) snake += '_';
    snake += absl::ascii_tolower(words[i]);
  }
  return snake;
}

std::string StringAt(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// The layers of a model; null if it is none.
json* LayersOf(json& model) {
  if (!model.is_object() || !model.contains("config")) return nullptr;
  json& config = model["config"];
  // Before Keras 2.2.3 the config of a Sequential was its list of layers.
  if (config.is_array()) return &config;
  if (!config.is_object() || !config.contains("layers") || !config["layers"].is_array()) {
    return nullptr;
  }
  return &config["layers"];
}

// The cells of an RNN that has a stack of them; null for another layer.
json* StackedCells(json& layer) {
  json* config = layer.is_object() && layer.contains("config") ? &layer["config"] : nullptr;
  for (const char* argument : {"cell", "config", "cells"}) {
    if (config == nullptr || !config->is_object() || !config->contains(argument)) return nullptr;
    config = &(*config)[argument];
  }
  return config->is_array() ? config : nullptr;
}

void MarkPlace(json& layer, KerasLayerPlace place, std::vector<KerasLayerPlace>* places) {
  if (!layer.contains("config") || !layer["config"].is_object()) return;
  layer["config"][kPlaceArgument] = places->size();
  places->push_back(std::move(place));
}

void MarkPlaces(json& layers, const std::string& path, const std::string& top,
                std::vector<KerasLayerPlace>* places) {
  KerasLayerNumbers numbers;
  for (json& layer : layers) {
    const std::string class_name = StringAt(layer, "class_name");
    if (class_name.empty() || class_name == "InputLayer") continue;
    KerasLayerPlace place;
    place.path = absl::StrCat(path, numbers.Next(class_name));
    place.top = top.empty() ? StringAt(layer, "name") : top;
    if (place.top.empty() && layer.contains("config")) {
      place.top = StringAt(layer["config"], "name");
    }
    if (json* const inner = LayersOf(layer)) {
      MarkPlaces(*inner, absl::StrCat(place.path, "/layers/"), place.top, places);
    } else if (json* const cells = StackedCells(layer)) {
      KerasLayerNumbers cell_numbers;
      for (json& cell : *cells) {
        MarkPlace(cell,
                  {.path = absl::StrCat(place.path, "/cell/cells/",
                                        cell_numbers.Next(StringAt(cell, "class_name"))),
                   .top = place.top},
                  places);
      }
    } else {
      MarkPlace(layer, std::move(place), places);
    }
  }
}

}  // namespace

std::string KerasLayerNumbers::Next(const std::string& class_name) {
  const std::string name = SnakeCase(class_name);
  const int number = counts_[name]++;
  return number == 0 ? name : absl::StrCat(name, "_", number);
}

std::string KerasVariablePath(const Layer& layer, size_t variable) {
  const std::string& name = layer.class_name();
  const size_t count = layer.variables().size();
  if (name == "LSTM" || name == "GRU" || name == "SimpleRNN" || name == "ConvLSTM1D" ||
      name == "ConvLSTM2D" || name == "RNN") {
    return absl::StrCat("cell/vars/", variable);
  }
  if (name == "Bidirectional") {
    const size_t half = count / 2;
    return absl::StrCat(variable < half ? "forward_layer" : "backward_layer", "/cell/vars/",
                        variable % half);
  }
  if (name == "TimeDistributed") {
    const auto& inner = static_cast<const TimeDistributedLayer&>(layer).inner();
    return absl::StrCat("layer/", KerasVariablePath(inner, variable));
  }
  if (name == "MultiHeadAttention") {
    const char* const parts[] = {"query", "key", "value", "output"};
    const size_t each = count / 4;
    return absl::StrCat(parts[variable / each], "_dense/vars/", variable % each);
  }
  return absl::StrCat("vars/", variable);
}

absl::StatusOr<PlacedModel> ReadPlacedModel(json document, const std::string& root) {
  PlacedModel model;
  json* outermost = &document;
  if (document.is_object() && document.contains("model_config")) {
    outermost = &document["model_config"];
  }
  if (json* const layers = LayersOf(*outermost)) MarkPlaces(*layers, "layers/", "", &model.places);
  CAIRN_ASSIGN_OR_RETURN(model.spec, ReadKerasTopology(JsonNode(&document, root)));
  for (proto::LayerSpec& layer : *model.spec.mutable_layers()) {
    auto* holder = layer.mutable_config();
    // The cell of a stack has its own place.
    if (const auto cell = holder->mutable_fields()->find("cell");
        cell != holder->mutable_fields()->end() &&
        holder->fields().find(kPlaceArgument) == holder->fields().end()) {
      auto& fields = *cell->second.mutable_struct_value()->mutable_fields();
      if (fields.contains("config")) holder = fields["config"].mutable_struct_value();
    }
    auto& arguments = *holder->mutable_fields();
    const auto found = arguments.find(kPlaceArgument);
    if (found == arguments.end()) continue;
    const auto place = static_cast<size_t>(found->second.number_value());
    if (layer.shares().empty() && place < model.places.size()) {
      model.places[place].layer = layer.name();
    }
    arguments.erase(found);
  }
  return model;
}

}  // namespace cairn::nn
