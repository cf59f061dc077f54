#include "cli/model/trained_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/files.h"
#include "common/status_macros.h"
#include "nn/formats/tfjs_layers.h"

namespace cairn::cli {
namespace {

absl::StatusOr<proto::Manifest> ChooseCheckpoint(const proto::CheckpointList& list,
                                                 const std::string& job, uint64_t checkpoint) {
  if (list.manifests().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job, " has no checkpoint yet; take one with cairn checkpoint ", job));
  }
  if (checkpoint == 0) return *list.manifests().rbegin();
  for (const auto& manifest : list.manifests()) {
    if (manifest.checkpoint() == checkpoint) return manifest;
  }
  return absl::NotFoundError(absl::StrCat(
      "job ", job, " has no checkpoint ", checkpoint, "; there are ",
      absl::StrJoin(list.manifests(), ", ", [](std::string* out, const proto::Manifest& manifest) {
        absl::StrAppend(out, manifest.checkpoint());
      })));
}

}  // namespace

absl::StatusOr<TrainedModel> ReadTrainedModel(JobSource* source, const std::string& job,
                                              uint64_t checkpoint) {
  TrainedModel model;
  CAIRN_ASSIGN_OR_RETURN(model.plan, source->GetPlan(job));
  CAIRN_ASSIGN_OR_RETURN(const auto list,
                         source->ListCheckpoints(absl::StrCat(model.plan.job_id())));
  CAIRN_ASSIGN_OR_RETURN(model.checkpoint, ChooseCheckpoint(list, job, checkpoint));
  CAIRN_ASSIGN_OR_RETURN(model.variables, source->ReadVariables(model.plan, model.checkpoint));
  return model;
}

absl::Status ExportModel(const TrainedModel& model, const std::string& folder) {
  const auto& partition = model.plan.partition();
  const auto& names = model.plan.model().weight_names();
  std::vector<nn::NamedTensor> tensors;
  for (int i = 0; i < partition.variables_size(); ++i) {
    const auto& variable = partition.variables(i);
    nn::NamedTensor tensor;
    tensor.name = i < names.size() ? names[i] : variable.name();
    tensor.shape.assign(variable.shape().begin(), variable.shape().end());
    tensor.values = model.variables[i];
    tensors.push_back(std::move(tensor));
  }
  CAIRN_ASSIGN_OR_RETURN(const auto files, nn::WriteTfjsLayersModel(model.plan.model(), tensors));
  // The file that names the other comes last: who sees it sees both.
  CAIRN_RETURN_IF_ERROR(WriteFile(folder + "/weights.bin", files.weights_bin));
  return WriteFile(folder + "/model.json", files.model_json);
}

}  // namespace cairn::cli
