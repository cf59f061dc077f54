#include "cli/model/model_weights.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/files.h"
#include "common/status_macros.h"
#include "nn/formats/model_file.h"

namespace cairn::cli {
namespace {

// Keras names a recurrent layer's cell too: "lstm/lstm_cell/kernel".
bool IsCell(absl::string_view part) {
  return absl::StartsWith(part, "lstm_cell") || absl::StartsWith(part, "gru_cell") ||
         absl::StartsWith(part, "simple_rnn_cell") || absl::StartsWith(part, "conv_lstm_cell");
}

// A TF.js model and a SavedModel are folders. People name the folder, or the file in it.
std::string FileOf(const std::string& named) {
  std::error_code error;
  for (const char* const name : {"model.json", "variables/variables.index"}) {
    const std::filesystem::path file = std::filesystem::path(named) / name;
    if (std::filesystem::is_regular_file(file, error)) return file.string();
  }
  return named;
}

absl::StatusOr<nn::ImportedModel> Read(const std::string& named) {
  const std::filesystem::path path = FileOf(named);
  CAIRN_ASSIGN_OR_RETURN(const std::string json, ReadFile(path.string()));
  CAIRN_ASSIGN_OR_RETURN(const auto weight_files,
                         nn::ModelWeightFiles(json, path.filename().string()));
  std::vector<std::string> contents;
  for (const std::string& name : weight_files) {
    CAIRN_ASSIGN_OR_RETURN(contents.emplace_back(), ReadFile((path.parent_path() / name).string()));
  }
  return nn::ReadModel(json, contents);
}

}  // namespace

absl::StatusOr<nn::ImportedModel> ReadImportedModel(const std::string& file) {
  auto model = Read(file);
  if (!model.ok()) return AtModelFile(file, model.status());
  return model;
}

absl::Status AtModelFile(const std::string& file, const absl::Status& status) {
  if (status.ok() || absl::StrContains(status.message(), file)) return status;
  return absl::Status(status.code(), absl::StrCat(file, ": ", std::string(status.message())));
}

bool IsWeightOf(std::string_view variable, std::string_view in_file) {
  const absl::string_view without_suffix =
      absl::StripSuffix(absl::string_view(in_file.data(), in_file.size()), ":0");
  std::vector<absl::string_view> parts = absl::StrSplit(without_suffix, '/');
  parts.erase(std::remove_if(parts.begin(), parts.end(), IsCell), parts.end());
  const std::string suffix = absl::StrCat("/", std::string(variable));
  // A layer for one of several cells has the cell's name.
  return absl::EndsWith(absl::StrCat("/", absl::StrJoin(parts, "/")), suffix) ||
         absl::EndsWith(absl::StrCat("/", without_suffix), suffix);
}

absl::Status ExpectNumbers(const nn::NamedTensor& tensor) {
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    if (std::isfinite(tensor.values[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("weight ", tensor.name, " is ", tensor.values[i], " at element ", i));
  }
  return absl::OkStatus();
}

}  // namespace cairn::cli
