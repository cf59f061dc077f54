#include "cli/model_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/model/model_weights.h"
#include "common/status_macros.h"
#include "job/model_objectives.h"
#include "nn/formats/imported_model.h"
#include "nn/initializer.h"
#include "nn/model.h"
#include "nn/model_union.h"

namespace cairn::cli {
namespace {

// The index of the tensor with the name and shape of the variable. Exactly its name wins:
// "a/kernel" before "b/a/kernel".
absl::StatusOr<int> FindTensor(const nn::VariableSpec& variable,
                               const std::vector<nn::NamedTensor>& tensors) {
  const auto exact = std::find_if(
      tensors.begin(), tensors.end(),
      [&variable](const nn::NamedTensor& tensor) { return tensor.name == variable.name; });
  int found = exact == tensors.end() ? -1 : static_cast<int>(exact - tensors.begin());
  for (int i = 0; exact == tensors.end() && i < static_cast<int>(tensors.size()); ++i) {
    if (!IsWeightOf(variable.name, tensors[i].name)) continue;
    if (found >= 0) {
      return absl::InvalidArgumentError(absl::StrCat("both weights ", tensors[found].name, " and ",
                                                     tensors[i].name, " could be the model's ",
                                                     variable.name));
    }
    found = i;
  }
  if (found < 0) {
    return absl::InvalidArgumentError(absl::StrCat("no weight for the model's ", variable.name));
  }
  if (tensors[found].shape != variable.shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight ", tensors[found].name, " has the shape (",
                     absl::StrJoin(tensors[found].shape, ", "), "), the model needs (",
                     absl::StrJoin(variable.shape, ", "), ")"));
  }
  return found;
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
    // One NaN in a weight would spread to all variables in the first batch.
    CAIRN_RETURN_IF_ERROR(ExpectNumbers(imported.weights[i]));
    result.spec.add_weight_names(imported.weights[i].name);
    result.weights.push_back(std::move(imported.weights[i].values));
  }
  return result;
}

}  // namespace

absl::StatusOr<SubmittedModel> ReadModelFile(const std::string& file) {
  CAIRN_ASSIGN_OR_RETURN(nn::ImportedModel imported, ReadImportedModel(file));
  return CheckImportedModel(file, std::move(imported));
}

absl::StatusOr<SubmittedModel> CheckImportedModel(const std::string& file,
                                                  nn::ImportedModel imported) {
  if (imported.spec.layers().empty()) {
    return AtModelFile(file, absl::InvalidArgumentError(
                                 "it has weights without an architecture, which the job field "
                                 "resume_from takes"));
  }
  const auto model = nn::Model::Create(imported.spec);
  if (!model.ok()) return AtModelFile(file, model.status());
  auto submitted = MatchWeights(std::move(imported), **model);
  if (!submitted.ok()) return AtModelFile(file, submitted.status());
  return submitted;
}

absl::StatusOr<SubmittedModel> ReadModelFiles(const proto::Job& job) {
  // In the order of their names, because a map has none.
  const std::map<std::string, std::string> files(job.models().begin(), job.models().end());
  std::vector<SubmittedModel> models;
  std::vector<nn::UnionPart> parts;
  bool has_weights = false;
  for (const auto& [name, file] : files) {
    CAIRN_ASSIGN_OR_RETURN(SubmittedModel model, ReadModelFile(file));
    parts.push_back({name, model.spec, job::ObjectiveOf(job, name) < 0});
    has_weights |= !model.weights.empty();
    models.push_back(std::move(model));
  }
  SubmittedModel result;
  result.spec = nn::UnionOf(parts);
  const auto all = nn::Model::Create(result.spec);
  if (!all.ok())
    return absl::InvalidArgumentError(absl::StrCat("models: ", all.status().message()));
  if (!has_weights) return result;
  size_t place = 0;  // In the variables of the union.
  for (SubmittedModel& model : models) {
    CAIRN_ASSIGN_OR_RETURN(const auto own, nn::Model::Create(model.spec));
    for (size_t i = 0; i < own->variables().size(); ++i, ++place) {
      const bool is_there = !model.weights.empty();
      result.spec.add_weight_names(is_there ? model.spec.weight_names(static_cast<int>(i))
                                            : own->variables()[i].name);
      if (is_there) {
        result.weights.push_back(std::move(model.weights[i]));
        continue;
      }
      const nn::VariableSpec& variable = (*all)->variables()[place];
      std::vector<float>& values = result.weights.emplace_back(variable.element_count());
      nn::FillInitialValues(variable, job.seed(), 0, variable.element_count(), values.data());
    }
  }
  return result;
}

}  // namespace cairn::cli
