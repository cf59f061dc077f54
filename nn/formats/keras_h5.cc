#include "nn/formats/keras_h5.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/hdf5_file.h"
#include "nn/formats/json_text.h"
#include "nn/formats/keras_weights.h"
#include "nn/model.h"
#include "nn/tensor.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

constexpr char kArchitecture[] = "model_config";

// The list of an attribute. A list of more than 64 KiB is divided among NAME0, NAME1, ...
absl::StatusOr<std::vector<std::string>> List(const Hdf5File& file, const std::string& group,
                                              const std::string& name) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<std::string> list, file.Strings(group, name));
  for (int part = 0; list.empty() || part > 0; ++part) {
    CAIRN_ASSIGN_OR_RETURN(const auto more, file.Strings(group, absl::StrCat(name, part)));
    if (more.empty()) break;
    list.insert(list.end(), more.begin(), more.end());
  }
  return list;
}

// A Normalization counts the examples behind its statistics.
bool IsCount(const std::string& weight) {
  return absl::EndsWith(weight, "/count") || absl::EndsWith(weight, "/count:0");
}

// The variables of a layer of the outermost model in Keras's order: those that are trained come
// first, also in a model that is a layer.
std::vector<const VariableSpec*> VariablesOf(const std::vector<const Layer*>& layers) {
  std::vector<const VariableSpec*> variables;
  for (const Layer* layer : layers) {
    for (const LayerVariable& variable : layer->variables()) variables.push_back(&variable.spec);
  }
  std::stable_partition(variables.begin(), variables.end(), [](const VariableSpec* variable) {
    return variable->update == VariableSpec::Update::kOptimized;
  });
  return variables;
}

absl::Status ReadGroup(const Hdf5File& file, const std::string& group,
                       const std::vector<const VariableSpec*>& variables,
                       std::map<std::string, NamedTensor>* weights) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<std::string> names, List(file, group, "weight_names"));
  if (names.size() > variables.size()) {
    names.erase(std::remove_if(names.begin(), names.end(), IsCount), names.end());
  }
  if (names.size() != variables.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(group, " has ", names.size(), " weights, the layer ", variables.size()));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(NamedTensor tensor, file.Read(absl::StrCat(group, "/", names[i])));
    if (tensor.shape != variables[i]->shape) {
      return absl::InvalidArgumentError(
          absl::StrCat(tensor.name, " has the shape ", ShapeText(tensor.shape), "; ",
                       variables[i]->name, " has ", ShapeText(variables[i]->shape)));
    }
    tensor.name = variables[i]->name;
    weights->insert_or_assign(tensor.name, std::move(tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedTensor>> ReadWeights(const Hdf5File& file, const Model& model,
                                                     const std::vector<KerasLayerPlace>& places) {
  std::map<std::string, const Layer*> layers;
  for (const Model::Node& node : model.nodes()) {
    if (node.owner < 0) layers[node.layer->name()] = node.layer.get();
  }
  std::map<std::string, std::vector<const Layer*>> groups;
  for (const KerasLayerPlace& place : places) {
    if (const auto found = layers.find(place.layer); found != layers.end()) {
      groups[place.top].push_back(found->second);
    }
  }
  std::map<std::string, NamedTensor> weights;
  for (const auto& [name, members] : groups) {
    const auto variables = VariablesOf(members);
    if (variables.empty()) continue;
    CAIRN_RETURN_IF_ERROR(
        ReadGroup(file, absl::StrCat("model_weights/", name), variables, &weights));
  }
  std::vector<NamedTensor> in_order;
  for (const VariableSpec& variable : model.variables()) {
    const auto found = weights.find(variable.name);
    if (found == weights.end()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no weight for ", variable.name));
    }
    in_order.push_back(std::move(found->second));
  }
  return in_order;
}

// The file of model.save_weights().
absl::StatusOr<std::vector<NamedTensor>> ReadNamedWeights(const Hdf5File& file) {
  CAIRN_ASSIGN_OR_RETURN(const auto layers, List(file, "", "layer_names"));
  if (layers.empty()) {
    return absl::InvalidArgumentError(
        "an HDF5 file without 'model_config' and 'layer_names', which Keras's model.save() and "
        "save_weights() write to .h5 files; a .weights.h5 file of Keras 3 has no names of layers: "
        "save the whole model as .keras");
  }
  std::vector<NamedTensor> weights;
  for (const std::string& layer : layers) {
    CAIRN_ASSIGN_OR_RETURN(const auto names, List(file, layer, "weight_names"));
    for (const std::string& name : names) {
      if (IsCount(name)) continue;
      CAIRN_ASSIGN_OR_RETURN(weights.emplace_back(), file.Read(absl::StrCat(layer, "/", name)));
      weights.back().name = name;
    }
  }
  return weights;
}

}  // namespace

bool IsKerasH5(std::string_view file) {
  return absl::StartsWith({file.data(), file.size()}, "\x89HDF");
}

absl::StatusOr<ImportedModel> ReadKerasH5(std::string_view bytes, absl::Span<const std::string>) {
  CAIRN_ASSIGN_OR_RETURN(const Hdf5File file, Hdf5File::Open(bytes));
  CAIRN_ASSIGN_OR_RETURN(const auto architecture, file.Strings("", kArchitecture));
  ImportedModel imported;
  if (architecture.empty()) {
    CAIRN_ASSIGN_OR_RETURN(imported.weights, ReadNamedWeights(file));
    return imported;
  }
  CAIRN_ASSIGN_OR_RETURN(json config, ParseJson(architecture[0]));
  CAIRN_ASSIGN_OR_RETURN(const auto version, file.Strings("", "keras_version"));
  if (config.is_object() && !version.empty()) config["keras_version"] = version[0];
  CAIRN_ASSIGN_OR_RETURN(PlacedModel placed, ReadPlacedModel(std::move(config), kArchitecture));
  CAIRN_ASSIGN_OR_RETURN(const auto model, Model::Create(placed.spec));
  imported.spec = std::move(placed.spec);
  CAIRN_ASSIGN_OR_RETURN(imported.weights, ReadWeights(file, *model, placed.places));
  return imported;
}

}  // namespace cairn::nn
