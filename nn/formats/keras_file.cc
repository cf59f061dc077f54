#include "nn/formats/keras_file.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "nn/formats/hdf5_file.h"
#include "nn/formats/hdf5_writer.h"
#include "nn/formats/json_text.h"
#include "nn/formats/keras_config.h"
#include "nn/formats/keras_weights.h"
#include "nn/formats/zip_archive.h"
#include "nn/model.h"
#include "nn/tensor.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

constexpr char kConfig[] = "config.json";
constexpr char kMetadata[] = "metadata.json";
constexpr char kWeights[] = "model.weights.h5";
// The class of layers whose variables are statistics.
constexpr char kStatistics[] = "Normalization";

absl::Status In(const char* member, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(member, ": ", std::string(status.message())));
}

absl::StatusOr<json> ReadJsonMember(std::string_view file, const char* member) {
  auto text = ReadZipMember(file, member);
  if (absl::IsNotFound(text.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(text.status().message()), ", as a .keras file has"));
  }
  if (!text.ok()) return text.status();
  auto document = ParseJson(*text);
  if (!document.ok()) return In(member, document.status());
  return document;
}

// The path of a weight. TensorFlow 2.12 and the first versions of Keras 3 name some groups
// otherwise.
std::string FindWeight(const Hdf5File& file, const std::string& path) {
  const std::string tensorflow =
      absl::StrReplaceAll(path, {{"layers/", "_layer_checkpoint_dependencies/"}});
  const std::string attention = absl::StrReplaceAll(path, {{"/query_dense/", "/_query_dense/"},
                                                           {"/key_dense/", "/_key_dense/"},
                                                           {"/value_dense/", "/_value_dense/"},
                                                           {"/output_dense/", "/_output_dense/"}});
  // A layer for each cell of a stack.
  const std::string cell = absl::StrReplaceAll(path, {{"/cell/vars/", "/vars/"}});
  for (const std::string& other : {tensorflow, attention, cell}) {
    if (!file.HasDataSet(path) && file.HasDataSet(other)) return other;
  }
  return path;
}

absl::Status ReadWeightsOf(const Hdf5File& file, const std::string& group, const Layer& layer,
                           std::vector<NamedTensor>* weights) {
  for (size_t i = 0; i < layer.variables().size(); ++i) {
    const VariableSpec& variable = layer.variables()[i].spec;
    const std::string path =
        FindWeight(file, absl::StrCat(group, "/", KerasVariablePath(layer, i)));
    if (!file.HasDataSet(path)) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no ", path, ", the ", variable.name, " of the model"));
    }
    CAIRN_ASSIGN_OR_RETURN(NamedTensor tensor, file.Read(path));
    if (tensor.shape != variable.shape) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has the shape ",
                                                     ShapeText(tensor.shape), "; ", variable.name,
                                                     " has ", ShapeText(variable.shape)));
    }
    tensor.name = variable.name;
    weights->push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedTensor>> ReadWeights(const Model& model,
                                                     const std::vector<KerasLayerPlace>& places,
                                                     std::string_view bytes) {
  CAIRN_ASSIGN_OR_RETURN(const Hdf5File file, Hdf5File::Open(bytes));
  std::map<std::string, std::string> groups;
  for (const KerasLayerPlace& place : places) groups[place.layer] = place.path;
  std::vector<NamedTensor> weights;
  for (const Model::Node& node : model.nodes()) {
    if (node.owner >= 0 || node.layer->variables().empty()) continue;
    CAIRN_RETURN_IF_ERROR(ReadWeightsOf(file, groups[node.layer->name()], *node.layer, &weights));
  }
  return weights;
}

// Keras 3 would also want the number of examples behind the statistics.
void MoveToArguments(absl::Span<const NamedTensor> statistics, proto::LayerSpec* spec) {
  for (size_t i = 0; i < statistics.size(); ++i) {
    auto& arguments = *spec->mutable_config()->mutable_fields();
    auto* const numbers = arguments[i == 0 ? "mean" : "variance"].mutable_list_value();
    for (const float value : statistics[i].values) numbers->add_values()->set_number_value(value);
  }
}

// The data sets of a model's weights. `layers` are the indices of its layers in Keras's order.
std::vector<Hdf5DataSet> DataSetsOf(const Model& model, const std::vector<int>& layers,
                                    absl::Span<const NamedTensor> weights) {
  KerasLayerNumbers numbers;
  std::vector<Hdf5DataSet> data_sets;
  for (const int index : layers) {
    const Model::Node& node = model.nodes()[index];
    const std::string group = absl::StrCat("layers/", numbers.Next(node.layer->class_name()), "/");
    if (node.layer->class_name() == kStatistics) continue;
    for (size_t i = 0; i < node.layer->variables().size(); ++i) {
      data_sets.push_back(
          {group + KerasVariablePath(*node.layer, i), &weights[node.first_variable + i]});
    }
  }
  return data_sets;
}

}  // namespace

bool IsKerasFile(std::string_view file) {
  return absl::StartsWith({file.data(), file.size()}, "PK\x03\x04");
}

absl::StatusOr<ImportedModel> ReadKerasFile(std::string_view file, absl::Span<const std::string>) {
  CAIRN_ASSIGN_OR_RETURN(json config, ReadJsonMember(file, kConfig));
  // The version tells how activations compute (see ReadKerasTopology).
  if (const auto metadata = ReadJsonMember(file, kMetadata);
      config.is_object() && metadata.ok() && metadata->is_object()) {
    config["keras_version"] = metadata->value("keras_version", json());
  }
  CAIRN_ASSIGN_OR_RETURN(PlacedModel placed, ReadPlacedModel(std::move(config), kConfig));
  CAIRN_ASSIGN_OR_RETURN(const auto model, Model::Create(placed.spec));
  ImportedModel imported;
  imported.spec = std::move(placed.spec);
  if (model->variables().empty()) return imported;
  const auto bytes = ReadZipMember(file, kWeights);
  if (absl::IsNotFound(bytes.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(bytes.status().message()),
                     "; sharded weights and .npz are not read: save the model with the defaults"));
  }
  if (!bytes.ok()) return bytes.status();
  auto weights = ReadWeights(*model, placed.places, *bytes);
  if (!weights.ok()) return In(kWeights, weights.status());
  imported.weights = *std::move(weights);
  return imported;
}

absl::StatusOr<std::vector<std::string>> WriteKerasFile(const proto::ModelSpec& spec,
                                                        absl::Span<const NamedTensor> weights) {
  CAIRN_ASSIGN_OR_RETURN(const auto model, Model::CreateForExport(spec));
  CAIRN_RETURN_IF_ERROR(CheckWeights(model->variables(), weights));
  proto::ModelSpec written = spec;
  for (size_t i = 0; i < model->nodes().size(); ++i) {
    const Model::Node& node = model->nodes()[i];
    if (node.layer->class_name() != kStatistics) continue;
    MoveToArguments(weights.subspan(node.first_variable, node.layer->variables().size()),
                    written.mutable_layers(i));
  }
  CAIRN_ASSIGN_OR_RETURN(KerasConfig config, WriteKerasConfig(written, *model));
  const json metadata = {{"keras_version", "3.0.0"}, {"generated_by", "Cairn"}};
  CAIRN_ASSIGN_OR_RETURN(
      std::string file,
      WriteZip({{kMetadata, PrintJson(metadata)},
                {kConfig, std::move(config.json)},
                {kWeights, WriteHdf5(DataSetsOf(*model, config.layers, weights))}}));
  return std::vector<std::string>{std::move(file)};
}

}  // namespace cairn::nn
