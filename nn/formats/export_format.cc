#include "nn/formats/export_format.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "nn/formats/tfjs_layers.h"

namespace cairn::nn {

const ExportFormat* FindExportFormat(std::string_view extension) {
  static const auto* const formats = new std::vector<ExportFormat>{
      {"TF.js layers model", "", {"/weights.bin", "/model.json"}, WriteTfjsLayersModel},
  };
  const auto format = absl::c_find_if(*formats, [&](const ExportFormat& each) {
    return absl::EqualsIgnoreCase({extension.data(), extension.size()}, each.extension);
  });
  return format == formats->end() ? nullptr : &*format;
}

}  // namespace cairn::nn
