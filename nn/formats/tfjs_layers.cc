#include "nn/formats/tfjs_layers.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/json_node.h"
#include "nn/formats/json_text.h"
#include "nn/formats/keras_topology.h"
#include "nn/formats/tfjs_topology.h"
#include "nn/formats/tfjs_weights.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

constexpr char kWeightsFile[] = "weights.bin";

absl::Status CheckFormat(const JsonNode& document) {
  const std::optional<JsonNode> format = document.Find("format");
  if (!format.has_value() || format->json() == "layers-model") return absl::OkStatus();
  return format->Error(
      "is not 'layers-model'; a graph model has no layers: convert the Keras model with "
      "--output_format=tfjs_layers_model");
}

json ManifestOf(absl::Span<const NamedTensor> weights) {
  json entries = json::array();
  for (const NamedTensor& tensor : weights) {
    entries.push_back({{"name", tensor.name}, {"shape", tensor.shape}, {"dtype", "float32"}});
  }
  json group;
  group["paths"] = json::array({kWeightsFile});
  group["weights"] = std::move(entries);
  return json::array({std::move(group)});
}

}  // namespace

absl::StatusOr<std::vector<std::string>> TfjsWeightFiles(std::string_view model_json) {
  CAIRN_ASSIGN_OR_RETURN(const json document, ParseJson(model_json));
  const JsonNode root(&document, "model");
  CAIRN_RETURN_IF_ERROR(CheckFormat(root));
  const std::optional<JsonNode> manifest = root.Find("weightsManifest");
  return manifest.has_value() ? ReadWeightPaths(*manifest) : std::vector<std::string>();
}

absl::StatusOr<ImportedModel> ReadTfjsLayersModel(std::string_view model_json,
                                                  absl::Span<const std::string> file_contents) {
  CAIRN_ASSIGN_OR_RETURN(const json document, ParseJson(model_json));
  const JsonNode root(&document, "model");
  CAIRN_RETURN_IF_ERROR(CheckFormat(root));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode topology, root.Member("modelTopology"));
  ImportedModel model;
  CAIRN_ASSIGN_OR_RETURN(model.spec, ReadKerasTopology(topology));
  if (const auto manifest = root.Find("weightsManifest"); manifest.has_value()) {
    CAIRN_ASSIGN_OR_RETURN(model.weights, ReadWeights(*manifest, file_contents));
  }
  return model;
}

absl::StatusOr<std::vector<std::string>> WriteTfjsLayersModel(
    const proto::ModelSpec& spec, absl::Span<const NamedTensor> weights) {
  std::string weights_bin;
  for (const NamedTensor& tensor : weights) {
    CAIRN_RETURN_IF_ERROR(CheckFilled(tensor));
    weights_bin.append(reinterpret_cast<const char*>(tensor.values.data()),
                       tensor.values.size() * sizeof(float));
  }
  json document;
  document["format"] = "layers-model";
  document["generatedBy"] = "Cairn";
  document["convertedBy"] = nullptr;
  CAIRN_ASSIGN_OR_RETURN(document["modelTopology"], TfjsTopology(spec));
  document["weightsManifest"] = ManifestOf(weights);
  return std::vector<std::string>{std::move(weights_bin), PrintJson(document)};
}

}  // namespace cairn::nn
