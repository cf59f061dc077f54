#include "nn/formats/export_format.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nn/formats/keras_file.h"
#include "nn/formats/onnx_file.h"
#include "nn/formats/safetensors.h"
#include "nn/formats/saved_model.h"
#include "nn/formats/tensor_bundle.h"
#include "nn/formats/tfjs_layers.h"

namespace cairn::nn {

namespace {

const std::vector<ExportFormat>& Formats() {
  static const auto* const formats = new std::vector<ExportFormat>{
      {"TF.js layers model", "", {"/weights.bin", "/model.json"}, WriteTfjsLayersModel},
      {"Keras", ".keras", {""}, WriteKerasFile},
      {"ONNX", ".onnx", {""}, WriteOnnxFile},
      {"safetensors, weights only", ".safetensors", {""}, WriteSafetensors},
      {"TensorFlow checkpoint, weights only",
       ".ckpt",
       {".data-00000-of-00001", ".index"},
       WriteTensorBundle},
      {"TensorFlow SavedModel, a folder", ".savedmodel", {"/saved_model.pb"}, WriteSavedModel},
  };
  return *formats;
}

}  // namespace

std::string ExportFormatNames() {
  std::string names;
  for (const ExportFormat& format : Formats()) {
    if (*format.extension != '\0')
      absl::StrAppend(&names, format.extension, " (", format.name, "), ");
  }
  return absl::StrCat(names, "or a folder (", FindExportFormat("")->name, ")");
}

const ExportFormat* FindExportFormat(std::string_view extension) {
  const auto format = absl::c_find_if(Formats(), [&](const ExportFormat& each) {
    return absl::EqualsIgnoreCase({extension.data(), extension.size()}, each.extension);
  });
  return format == Formats().end() ? nullptr : &*format;
}

}  // namespace cairn::nn
