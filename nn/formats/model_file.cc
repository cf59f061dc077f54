#include "nn/formats/model_file.h"

#include <nlohmann/json.hpp>

#include "common/status_macros.h"
#include "nn/formats/json_node.h"
#include "nn/formats/json_text.h"
#include "nn/formats/keras_json.h"
#include "nn/formats/tfjs_layers.h"

namespace cairn::nn {
namespace {

enum class Format { kKerasJson, kTfjsLayersModel };

absl::StatusOr<Format> DetectFormat(std::string_view model_json) {
  CAIRN_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(model_json));
  const JsonNode root(&document, "model");
  for (const char* key : {"modelTopology", "weightsManifest", "format"}) {
    if (root.Find(key).has_value()) return Format::kTfjsLayersModel;
  }
  for (const char* key : {"class_name", "model_config"}) {
    if (root.Find(key).has_value()) return Format::kKerasJson;
  }
  return root.Error(
      "is neither a Keras architecture (an object with 'class_name', as model.to_json() writes) "
      "nor a TF.js layers model (an object with 'modelTopology')");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ModelWeightFiles(std::string_view model_json) {
  CAIRN_ASSIGN_OR_RETURN(const Format format, DetectFormat(model_json));
  if (format == Format::kTfjsLayersModel) return TfjsWeightFiles(model_json);
  return std::vector<std::string>();
}

absl::StatusOr<ImportedModel> ReadModel(std::string_view model_json,
                                        absl::Span<const std::string> file_contents) {
  CAIRN_ASSIGN_OR_RETURN(const Format format, DetectFormat(model_json));
  if (format == Format::kTfjsLayersModel) return ReadTfjsLayersModel(model_json, file_contents);
  ImportedModel model;
  CAIRN_ASSIGN_OR_RETURN(model.spec, ReadKerasJson(model_json));
  return model;
}

}  // namespace cairn::nn
