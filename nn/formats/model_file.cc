#include "nn/formats/model_file.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/json_node.h"
#include "nn/formats/json_text.h"
#include "nn/formats/keras_json.h"
#include "nn/formats/tfjs_layers.h"

namespace cairn::nn {
namespace {

enum class Format { kKerasJson, kTfjsLayersModel };

// Detects files written by Keras's model.save(), which are not JSON, and says how to convert them.
absl::Status CheckNotSaved(std::string_view file) {
  const char* const format = absl::StartsWith({file.data(), file.size()}, "\x89HDF")
                                 ? "an HDF5 file"
                             : absl::StartsWith({file.data(), file.size()}, "PK\x03\x04")
                                 ? "a zip file, as .keras files are"
                                 : nullptr;
  if (format == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("not JSON: it is ", format,
                   "; write the architecture with Keras's model.to_json(), or architecture and "
                   "weights with tensorflowjs_converter"));
}

absl::StatusOr<Format> DetectFormat(std::string_view model_json) {
  CAIRN_RETURN_IF_ERROR(CheckNotSaved(model_json));
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
