#include "nn/formats/model_file.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "nn/formats/json_node.h"
#include "nn/formats/json_text.h"
#include "nn/formats/keras_file.h"
#include "nn/formats/keras_h5.h"
#include "nn/formats/keras_json.h"
#include "nn/formats/onnx_reader.h"
#include "nn/formats/tensor_bundle.h"
#include "nn/formats/tfjs_layers.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

// A format in which a model can be read.
struct ImportFormat {
  const char* description;  // For messages.
  std::initializer_list<const char*> extensions;
  const char* beginning;  // How such a file begins. Null: the format is text or has no extension.
  // `document` is null if the file is not JSON.
  bool (*recognizes)(std::string_view file, const json* document);
  // Null: the file has all of the model.
  absl::StatusOr<std::vector<std::string>> (*weight_files)(std::string_view file,
                                                           std::string_view file_name);
  absl::StatusOr<ImportedModel> (*read)(std::string_view file,
                                        absl::Span<const std::string> file_contents);
};

bool HasMember(const json* document, std::initializer_list<const char*> names) {
  if (document == nullptr || !document->is_object()) return false;
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return document->contains(name); });
}

absl::StatusOr<ImportedModel> ReadKerasArchitecture(std::string_view file,
                                                    absl::Span<const std::string>) {
  ImportedModel model;
  CAIRN_ASSIGN_OR_RETURN(model.spec, ReadKerasJson(file));
  return model;
}

// The first one that recognizes a file reads it.
constexpr ImportFormat kFormats[] = {
    {"a .keras file",
     {".keras"},
     "a zip file does",
     [](std::string_view file, const json*) { return IsKerasFile(file); },
     nullptr,
     ReadKerasFile},
    {"a Keras .h5 file",
     {".h5", ".hdf5"},
     "an HDF5 file does",
     [](std::string_view file, const json*) { return IsKerasH5(file); },
     nullptr,
     ReadKerasH5},
    {"an ONNX file",
     {".onnx"},
     "one does, with the version of its format",
     [](std::string_view file, const json*) { return IsOnnxFile(file); },
     nullptr,
     ReadOnnxFile},
    {"the index of a TensorFlow checkpoint",
     {},
     nullptr,
     [](std::string_view file, const json*) { return IsTensorBundle(file); },
     TensorBundleFiles,
     ReadTensorBundle},
    {"a mapping of a TensorFlow checkpoint (an object with 'checkpoint')",
     {".json"},
     nullptr,
     [](std::string_view, const json* document) { return HasMember(document, {"checkpoint"}); },
     MappedBundleFiles,
     ReadMappedBundle},
    {"a TF.js layers model (an object with 'modelTopology')",
     {".json"},
     nullptr,
     [](std::string_view, const json* document) {
       return HasMember(document, {"modelTopology", "weightsManifest", "format"});
     },
     [](std::string_view file, std::string_view) { return TfjsWeightFiles(file); },
     ReadTfjsLayersModel},
    {"a Keras architecture (an object with 'class_name', as model.to_json() writes)",
     {".json"},
     nullptr,
     [](std::string_view, const json* document) {
       return HasMember(document, {"class_name", "model_config"});
     },
     nullptr,
     ReadKerasArchitecture},
};

bool HasExtension(const ImportFormat& format, std::string_view file_name) {
  const absl::string_view name(file_name.data(), file_name.size());
  return std::any_of(format.extensions.begin(), format.extensions.end(),
                     [&](const char* each) { return absl::EndsWithIgnoreCase(name, each); });
}

// The error of a file of another content than its name says. OK: its name says nothing.
absl::Status CheckBeginning(std::string_view file, std::string_view file_name) {
  for (const ImportFormat& format : kFormats) {
    if (format.beginning == nullptr || !HasExtension(format, file_name)) continue;
    return absl::InvalidArgumentError(
        file.empty() ? absl::StrCat("not ", format.description, ": it is empty")
                     : absl::StrCat("not ", format.description, ": it does not begin as ",
                                    format.beginning, "; it is damaged or of another format"));
  }
  return absl::OkStatus();
}

absl::StatusOr<const ImportFormat*> DetectFormat(std::string_view file,
                                                 std::string_view file_name) {
  const absl::StatusOr<json> document = ParseJson(file);
  for (const ImportFormat& format : kFormats) {
    if (format.recognizes(file, document.ok() ? &*document : nullptr)) return &format;
  }
  if (!document.ok()) CAIRN_RETURN_IF_ERROR(CheckBeginning(file, file_name));
  CAIRN_RETURN_IF_ERROR(document.status());
  const std::string formats =
      absl::StrJoin(kFormats, " nor ", [](std::string* text, const ImportFormat& format) {
        absl::StrAppend(text, format.description);
      });
  return JsonNode(&*document, "model").Error(absl::StrCat("is neither ", formats));
}

}  // namespace

bool HasModelExtension(std::string_view file_name) {
  return std::any_of(std::begin(kFormats), std::end(kFormats),
                     [&](const ImportFormat& format) { return HasExtension(format, file_name); });
}

absl::StatusOr<std::vector<std::string>> ModelWeightFiles(std::string_view file,
                                                          std::string_view file_name) {
  CAIRN_ASSIGN_OR_RETURN(const ImportFormat* const format, DetectFormat(file, file_name));
  if (format->weight_files == nullptr) return std::vector<std::string>();
  return format->weight_files(file, file_name);
}

absl::StatusOr<ImportedModel> ReadModel(std::string_view file,
                                        absl::Span<const std::string> file_contents) {
  CAIRN_ASSIGN_OR_RETURN(const ImportFormat* const format, DetectFormat(file, ""));
  return format->read(file, file_contents);
}

}  // namespace cairn::nn
