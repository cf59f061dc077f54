#include "cli/model/trained_model.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/files.h"
#include "cli/local/new_folders.h"
#include "cli/status_json.h"
#include "common/status_macros.h"
#include "job/model_objectives.h"
#include "nn/model_union.h"

namespace cairn::cli {
namespace {

// Extensions of files with models, arrays or archives.
constexpr const char* kFileExtensions[] = {
    ".h5",     ".hdf5",    ".keras",       ".onnx", ".pb",  ".pbtxt", ".json",
    ".bin",    ".tflite",  ".ckpt",        ".pt",   ".pth", ".pkl",   ".pickle",
    ".joblib", ".mlmodel", ".safetensors", ".gguf", ".npy", ".npz",   ".csv",
    ".zip",    ".tar",     ".gz",          ".tgz"};

bool HasFileExtension(const std::filesystem::path& path) {
  const std::string extension = absl::AsciiStrToLower(path.extension().string());
  return std::find(std::begin(kFileExtensions), std::end(kFileExtensions), extension) !=
         std::end(kFileExtensions);
}

absl::StatusOr<proto::Manifest> FindCheckpoint(const proto::CheckpointList& list,
                                               const std::string& job, uint64_t checkpoint) {
  for (const auto& manifest : list.manifests()) {
    if (manifest.checkpoint() == checkpoint) return manifest;
  }
  return absl::NotFoundError(absl::StrCat(
      "job ", job, " has no checkpoint ", checkpoint, "; there are ",
      absl::StrJoin(list.manifests(), ", ", [](std::string* out, const proto::Manifest& manifest) {
        absl::StrAppend(out, manifest.checkpoint());
      })));
}

std::string NameOf(const proto::JobStatus& status) {
  return absl::StrCat("job ", status.job_id(), " (", status.name(), ")");
}

// True if a callback of the job keeps its best checkpoint.
bool KeepsBest(const proto::Job& job) {
  return std::any_of(job.callbacks().begin(), job.callbacks().end(),
                     [](const proto::Callback& callback) {
                       return callback.save_best_only() || callback.restore_best_weights();
                     });
}

absl::Status NoBest(const proto::JobStatus& status, const proto::Job& job) {
  const std::string others = absl::StrCat(
      "take the newest, or another one by its number (cairn checkpoints ", status.job_id(), ")");
  if (KeepsBest(job)) {
    return absl::FailedPreconditionError(
        absl::StrCat(NameOf(status),
                     " has no best checkpoint yet: no epoch has ended whose checkpoint a callback "
                     "keeps; ",
                     others));
  }
  const bool validates = job.has_validation() || job.has_validation_fraction();
  return absl::FailedPreconditionError(absl::StrCat(
      NameOf(status),
      " has no best checkpoint: none of its callbacks keeps it, and older checkpoints are deleted; "
      R"(write in the job file "callbacks": [{"name": "model_checkpoint", "monitor": ")",
      validates ? "val_loss" : "loss", R"(", "save_best_only": true}], or )", others));
}

// The checkpoint that a callback keeps. Without such a callback there is no best checkpoint: that
// of the best epoch may have been deleted already.
absl::StatusOr<proto::Manifest> FindBest(JobSource* source, const proto::CheckpointList& list,
                                         const std::string& job, const proto::JobStatus& status) {
  if (status.best().empty()) {
    CAIRN_ASSIGN_OR_RETURN(const proto::JobPlan plan,
                           source->GetPlan(absl::StrCat(status.job_id())));
    return NoBest(status, plan.job());
  }
  // The job's result is what users get without --best.
  const auto other = std::find_if(status.best().begin(), status.best().end(),
                                  [](const auto& best) { return !best.is_result(); });
  const auto& chosen = other == status.best().end() ? status.best(0) : *other;
  return FindCheckpoint(list, job, chosen.checkpoint());
}

absl::Status NoCheckpoint(const proto::JobStatus& status) {
  const std::string name = NameOf(status);
  return absl::FailedPreconditionError(
      HasEnded(status.state())
          ? absl::StrCat(name, " ended without a checkpoint (", StateName(status.state()), ")")
          : absl::StrCat(name, " has no checkpoint yet (", StateName(status.state()),
                         "); once it trains take one with cairn checkpoint ", status.job_id()));
}

absl::StatusOr<proto::Manifest> ChooseCheckpoint(JobSource* source,
                                                 const proto::CheckpointList& list,
                                                 const std::string& job,
                                                 const proto::JobStatus& status,
                                                 const CheckpointChoice& choice) {
  if (choice.best && choice.checkpoint != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "checkpoint ", choice.checkpoint, " and the best one were both requested; choose one"));
  }
  if (list.manifests().empty()) return NoCheckpoint(status);
  if (choice.best) return FindBest(source, list, job, status);
  if (choice.checkpoint != 0) return FindCheckpoint(list, job, choice.checkpoint);
  for (const auto& best : status.best()) {
    const bool is_result = best.is_result() && status.state() == proto::FINISHED;
    if (is_result) return FindCheckpoint(list, job, best.checkpoint());
  }
  return *list.manifests().rbegin();
}

// A variable of the plan without its values, under its name in files.
nn::NamedTensor Described(const proto::JobPlan& plan, int i) {
  const auto& variable = plan.partition().variables(i);
  const auto& names = plan.model().weight_names();
  nn::NamedTensor tensor;
  tensor.name = i < names.size() ? names[i] : variable.name();
  tensor.shape.assign(variable.shape().begin(), variable.shape().end());
  return tensor;
}

}  // namespace

std::string TrainedModel::Title() const {
  if (!file.empty()) return file;
  return absl::StrCat("job ", plan.job_id(), " (", plan.job().name(), ")");
}

absl::StatusOr<TrainedModel> FindTrainedModel(JobSource* source, const std::string& job,
                                              const CheckpointChoice& choice) {
  TrainedModel model;
  const absl::StatusOr<proto::JobStatus> found = source->GetJob(job);
  if (absl::IsNotFound(found.status()) && std::filesystem::exists(job)) {
    return absl::NotFoundError(absl::StrCat(
        found.status().message(), "; ", job,
        " is a file: name the job that trained the model (cairn predict and evaluate also take a "
        "model file, as a path with a slash)"));
  }
  if (absl::IsNotFound(found.status()) && HasFileExtension(job)) {
    return absl::NotFoundError(
        absl::StrCat(found.status().message(), "; there is no such file here either"));
  }
  CAIRN_RETURN_IF_ERROR(found.status());
  const proto::JobStatus& status = *found;
  const std::string id = absl::StrCat(status.job_id());
  CAIRN_ASSIGN_OR_RETURN(const auto list, source->ListCheckpoints(id));
  CAIRN_ASSIGN_OR_RETURN(model.checkpoint, ChooseCheckpoint(source, list, job, status, choice));
  CAIRN_ASSIGN_OR_RETURN(model.plan, source->GetPlan(id));
  return model;
}

absl::StatusOr<TrainedModel> ReadTrainedModel(JobSource* source, const std::string& job,
                                              const CheckpointChoice& choice) {
  CAIRN_ASSIGN_OR_RETURN(TrainedModel model, FindTrainedModel(source, job, choice));
  CAIRN_ASSIGN_OR_RETURN(model.variables, source->ReadVariables(model.plan, model.checkpoint));
  return model;
}

absl::StatusOr<TrainedModel> ReadModelWithOptimizer(JobSource* source, const std::string& job,
                                                    const CheckpointChoice& choice) {
  CAIRN_ASSIGN_OR_RETURN(TrainedModel model, FindTrainedModel(source, job, choice));
  if (!nn::PartNames(model.plan.model()).empty()) {
    return absl::InvalidArgumentError(
        "--with-optimizer: the job has several models, whose optimizers are not exported");
  }
  CAIRN_ASSIGN_OR_RETURN(auto states, source->ReadStates(model.plan, model.checkpoint));
  int64_t updates = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    cluster::VariableState& state = states[i];
    updates = std::max(updates, state.version);
    for (size_t slot = 0; slot < state.slots.size(); ++slot) {
      nn::NamedTensor tensor = Described(model.plan, static_cast<int>(i));
      tensor.name = absl::StrCat(kOptimizerPrefix, state.slots[slot], "/", tensor.name);
      tensor.values = std::move(state.slot_values[slot]);
      model.optimizer.push_back(std::move(tensor));
    }
    model.variables.push_back(std::move(state.values));
  }
  model.optimizer.push_back({kUpdatesName, {}, {static_cast<float>(updates)}});
  return model;
}

absl::Status SelectModel(const std::string& name, TrainedModel* model) {
  const std::vector<std::string> names = nn::PartNames(model->plan.model());
  if (names.empty() && name.empty()) return absl::OkStatus();
  if (names.empty()) {
    return absl::InvalidArgumentError("--model: the job has one model; leave the flag out");
  }
  if (name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--model: is missing; the job has several models: ", absl::StrJoin(names, ", ")));
  }
  const absl::StatusOr<proto::ModelSpec> part = nn::PartOf(model->plan.model(), name);
  if (!part.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--model: ", part.status().message()));
  }
  TrainedModel selected;
  selected.checkpoint = model->checkpoint;
  selected.part = name;
  if (!selected.checkpoint.has_partition()) {
    *selected.checkpoint.mutable_partition() = model->plan.partition();
  }
  selected.plan = model->plan;
  proto::JobPlan& plan = selected.plan;
  *plan.mutable_model() = *part;
  plan.mutable_partition()->clear_variables();
  plan.mutable_partition()->clear_blocks();
  const auto& variables = model->plan.partition().variables();
  const auto& weight_names = model->plan.model().weight_names();
  for (int i = 0; i < variables.size(); ++i) {
    if (!absl::StartsWith(variables[i].name(), name + "/")) continue;
    proto::PartitionMap::Variable* variable = plan.mutable_partition()->add_variables();
    *variable = variables[i];
    variable->set_name(variables[i].name().substr(name.size() + 1));
    if (i < weight_names.size()) plan.mutable_model()->add_weight_names(weight_names[i]);
    if (!model->variables.empty()) selected.variables.push_back(std::move(model->variables[i]));
  }
  proto::Job& job = *plan.mutable_job();
  if (!job::TakesData(job, name)) {
    // Its inputs are not prepared like the data.
    job.mutable_train()->clear_scale();
    job.mutable_train()->clear_standardize();
    plan.mutable_data()->clear_inputs();
  }
  job.clear_models();
  job.clear_objectives();
  job.clear_metrics();
  job.clear_metric_arguments();
  *model = std::move(selected);
  return absl::OkStatus();
}

absl::StatusOr<const nn::ExportFormat*> ChooseExportFormat(const std::string& flag,
                                                           const std::string& output) {
  std::filesystem::path path = output;
  const std::string extension = path.extension().string();
  const nn::ExportFormat* format = nn::FindExportFormat(extension);
  if (!path.has_filename()) {
    // "trained.savedmodel/" is that folder.
    const auto* const named = nn::FindExportFormat(path.parent_path().extension().string());
    if (named != nullptr && named->is_folder()) format = named;
  }
  // Folders may have a dot in their names: "v1.2".
  if (format == nullptr && !HasFileExtension(path)) format = nn::FindExportFormat("");
  if (format != nullptr) return format;
  while (HasFileExtension(path)) path.replace_extension();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", output, ": there is no export format ", extension, ", but ",
                   nn::ExportFormatNames(), "; for example ", flag, " ", path.string(), ".keras"));
}

absl::StatusOr<std::string> ExportModel(const TrainedModel& model, const nn::ExportFormat& format,
                                        const std::string& output) {
  std::vector<nn::NamedTensor> tensors;
  for (int i = 0; i < model.plan.partition().variables_size(); ++i) {
    tensors.push_back(Described(model.plan, i));
    tensors.back().values = model.variables[i];
  }
  tensors.insert(tensors.end(), model.optimizer.begin(), model.optimizer.end());
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> contents,
                         format.write(model.plan.model(), tensors));
  // Before the files, so that an error names the folder.
  NewFolders folders;
  if (format.is_folder()) CAIRN_RETURN_IF_ERROR(folders.Make(output));
  // In the format's order: a reader that finds the last file finds all of them.
  for (size_t i = 0; i < format.files.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(WriteFile(output + format.files[i], contents[i]));
    folders.Keep();
  }
  return output + format.files.back();
}

}  // namespace cairn::cli
