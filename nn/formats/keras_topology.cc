#include "nn/formats/keras_topology.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/keras_functional.h"
#include "nn/formats/keras_sequential.h"
#include "nn/formats/topological_order.h"

namespace cairn::nn {
namespace {

absl::StatusOr<proto::ModelSpec> ReadLayers(const JsonNode& model, const std::string& class_name) {
  if (class_name == "Sequential") {
    CAIRN_ASSIGN_OR_RETURN(proto::ModelSpec spec, ReadKerasSequential(model, ReadKerasTopology));
    // A chain is sorted already; this checks its names.
    if (absl::Status status = SortTopologically(&spec); !status.ok()) {
      return model.Error(std::string(status.message()));
    }
    return spec;
  }
  if (class_name == "Functional" || class_name == "Model") {
    return ReadKerasFunctional(model, ReadKerasTopology);
  }
  return model.Error(absl::StrCat("class_name '", class_name,
                                  "' is not Sequential, Functional or Model; a subclassed model "
                                  "has no architecture to read"));
}

// Empty if the model states none; it is then read as Keras 3's.
std::string VersionOf(const JsonNode& node, const JsonNode& model) {
  std::optional<JsonNode> version = node.Find("keras_version");
  if (!version.has_value()) version = model.Find("keras_version");
  if (!version.has_value() || !version->json().is_string()) return "";
  return version->json();
}

// hard_sigmoid differs between Keras 3 and Keras 2 or TensorFlow.js.
void NameHardSigmoids(google::protobuf::Struct* config) {
  for (auto& [argument, value] : *config->mutable_fields()) {
    if (value.has_struct_value()) NameHardSigmoids(value.mutable_struct_value());
    const bool is_activation = argument == "activation" || argument == "recurrent_activation";
    if (is_activation && value.string_value() == "hard_sigmoid") {
      value.set_string_value("hard_sigmoid_keras2");
    }
  }
}

// In Keras, freezing a model freezes its layers.
void Freeze(proto::ModelSpec* spec) {
  for (proto::LayerSpec& layer : *spec->mutable_layers()) {
    if (layer.class_name() == "InputLayer") continue;
    (*layer.mutable_config()->mutable_fields())["trainable"].set_bool_value(false);
  }
}

}  // namespace

absl::StatusOr<proto::ModelSpec> ReadKerasTopology(const JsonNode& node) {
  // tensorflowjs_converter and HDF5 files wrap the architecture in model_config.
  const JsonNode model = node.Find("model_config").value_or(node);
  CAIRN_ASSIGN_OR_RETURN(const JsonNode class_node, model.Member("class_name"));
  CAIRN_ASSIGN_OR_RETURN(const std::string class_name, class_node.String());
  CAIRN_ASSIGN_OR_RETURN(proto::ModelSpec spec, ReadLayers(model, class_name));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode config, model.Member("config"));
  const std::string version = VersionOf(node, model);
  const bool is_tfjs = absl::StartsWith(version, "tfjs");
  for (proto::LayerSpec& layer : *spec.mutable_layers()) {
    if (is_tfjs || absl::StartsWith(version, "2.")) NameHardSigmoids(layer.mutable_config());
    if (is_tfjs && absl::StartsWith(layer.class_name(), "AveragePooling")) {
      (*layer.mutable_config()->mutable_fields())["gradient_of_tfjs"].set_bool_value(true);
    }
  }
  spec.set_name("model");
  if (const auto name = config.Find("name"); name.has_value()) {
    CAIRN_ASSIGN_OR_RETURN(*spec.mutable_name(), name->String());
  }
  if (const auto trainable = config.Find("trainable");
      trainable.has_value() && trainable->json() == false) {
    Freeze(&spec);
  }
  return spec;
}

}  // namespace cairn::nn
