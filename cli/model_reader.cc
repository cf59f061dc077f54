#include "cli/model_reader.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/files.h"
#include "common/status_macros.h"
#include "nn/formats/model_file.h"
#include "nn/model.h"

namespace cairn::cli {
namespace {

// Keras names a recurrent layer's cell too: "lstm/lstm_cell/kernel".
bool IsCell(absl::string_view part) {
  return absl::StartsWith(part, "lstm_cell") || absl::StartsWith(part, "gru_cell") ||
         absl::StartsWith(part, "simple_rnn_cell");
}

// Keras puts model names before a variable's and TensorFlow ":0" after it.
bool IsNameOf(const nn::VariableSpec& variable, const std::string& in_file) {
  std::vector<absl::string_view> parts = absl::StrSplit(absl::StripSuffix(in_file, ":0"), '/');
  parts.erase(std::remove_if(parts.begin(), parts.end(), IsCell), parts.end());
  const std::string name = absl::StrJoin(parts, "/");
  return name == variable.name || absl::EndsWith(name, absl::StrCat("/", variable.name));
}

absl::StatusOr<int> FindTensor(const nn::VariableSpec& variable,
                               const std::vector<nn::NamedTensor>& tensors) {
  int found = -1;
  for (int i = 0; i < static_cast<int>(tensors.size()); ++i) {
    if (!IsNameOf(variable, tensors[i].name)) continue;
    if (found >= 0) {
      return absl::InvalidArgumentError(absl::StrCat("both weights ", tensors[found].name, " and ",
                                                     tensors[i].name, " could be the model's ",
                                                     variable.name));
    }
    found = i;
  }
  if (found < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no weight for the model's ", variable.name));
  }
  if (tensors[found].shape != variable.shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight ", tensors[found].name, " has the shape (",
                     absl::StrJoin(tensors[found].shape, ", "), "), the model wants (",
                     absl::StrJoin(variable.shape, ", "), ")"));
  }
  return found;
}

// A value that is no number would be spread by the first batch over all others.
absl::Status ExpectNumbers(const nn::NamedTensor& tensor) {
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    if (std::isfinite(tensor.values[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("weight ", tensor.name, " is ", tensor.values[i], " at element ", i));
  }
  return absl::OkStatus();
}

// Brings the file's weights into the order of the model's variables.
absl::StatusOr<SubmittedModel> MatchWeights(nn::ImportedModel imported, const nn::Model& model) {
  SubmittedModel result;
  result.spec = std::move(imported.spec);
  if (imported.weights.empty()) return result;
  if (imported.weights.size() != model.variables().size()) {
    return absl::InvalidArgumentError(absl::StrCat("it has ", imported.weights.size(),
                                                   " weights, the model ", model.variables().size(),
                                                   " variables"));
  }
  for (const nn::VariableSpec& variable : model.variables()) {
    CAIRN_ASSIGN_OR_RETURN(const int i, FindTensor(variable, imported.weights));
    CAIRN_RETURN_IF_ERROR(ExpectNumbers(imported.weights[i]));
    result.spec.add_weight_names(imported.weights[i].name);
    result.weights.push_back(std::move(imported.weights[i].values));
  }
  return result;
}

absl::StatusOr<SubmittedModel> Read(const std::string& file) {
  CAIRN_ASSIGN_OR_RETURN(const std::string json, ReadFile(file));
  CAIRN_ASSIGN_OR_RETURN(const auto weight_files, nn::ModelWeightFiles(json));
  std::vector<std::string> contents;
  for (const std::string& name : weight_files) {
    CAIRN_ASSIGN_OR_RETURN(contents.emplace_back(),
                           ReadFile((std::filesystem::path(file).parent_path() / name).string()));
  }
  CAIRN_ASSIGN_OR_RETURN(nn::ImportedModel imported, nn::ReadModel(json, contents));
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(imported.spec));
  return MatchWeights(std::move(imported), *model);
}

}  // namespace

absl::StatusOr<SubmittedModel> ReadModelFile(const std::string& file) {
  auto model = Read(file);
  if (model.ok() || absl::StrContains(model.status().message(), file)) return model;
  return absl::Status(model.status().code(),
                      absl::StrCat("model ", file, ": ", std::string(model.status().message())));
}

}  // namespace cairn::cli
