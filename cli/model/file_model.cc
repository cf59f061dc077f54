#include "cli/model/file_model.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/files.h"
#include "cli/job_file.h"
#include "cli/json_text.h"
#include "cli/model/model_weights.h"
#include "cli/model/weights_start.h"
#include "cli/model_reader.h"
#include "common/status_macros.h"
#include "job/data_source.h"
#include "job/job_outputs.h"
#include "job/job_plan.h"
#include "job/report_keys.h"
#include "nn/model.h"

namespace cairn::cli {
namespace {

// The job file as far as it is about a model that is trained already.
struct DataDescription {
  std::string name;  // For errors: the file, or "--job_file".
  proto::Job job;
  bool has_train = false;
};

absl::Status At(const std::string& place, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(place, ": ", status.message()));
}

// Adds what the rules of a job file require and what a trained model does not need.
void Complete(const std::string& model, nlohmann::json* json) {
  const std::pair<const char*, nlohmann::json> fields[] = {
      {"name", "file"}, {"model", model}, {"optimizer", "sgd"}, {"batch_size", 32}};
  for (const auto& [name, value] : fields) {
    if (!json->contains(name)) (*json)[name] = value;
  }
  if (!json->contains("epochs") && !json->contains("steps")) (*json)["epochs"] = 1;
  if (!json->contains("train") && json->contains("validation")) {
    (*json)["train"] = (*json)["validation"];
  }
}

absl::StatusOr<DataDescription> ParseDescription(const std::string& text,
                                                 const std::filesystem::path& folder,
                                                 const std::string& model) {
  CAIRN_ASSIGN_OR_RETURN(nlohmann::json json, ParseJson(text, Comments::kIgnored));
  DataDescription description;
  if (json.is_object()) {
    if (json.contains("models")) {
      return absl::InvalidArgumentError(
          "models: the job has several models, and the model file is one; describe its data alone");
    }
    description.has_train = json.contains("train");
    // ParseJobFile knows a model in place of a job file by its fields.
    const bool is_model = json.contains("class_name") || json.contains("modelTopology");
    if (!is_model) Complete(model, &json);
  }
  CAIRN_ASSIGN_OR_RETURN(description.job, ParseJobFile(json.dump(), folder.string()));
  proto::Job& job = description.job;
  // None of these is about a trained model, and some must fit the length of the training.
  job.clear_strategy();
  job.clear_callbacks();
  job.clear_resume_from();
  job.clear_steps();
  job.clear_steps_per_epoch();
  job.clear_initial_epoch();
  job.set_epochs(1);
  return description;
}

absl::StatusOr<DataDescription> ReadDescription(const FileModelOptions& options,
                                                const std::string& model) {
  const bool is_json = options.job_file[0] == '{';
  const std::string name = is_json ? "--job_file" : options.job_file;
  std::string text = options.job_file;
  std::filesystem::path folder = std::filesystem::current_path();
  if (!is_json) {
    absl::StatusOr<std::string> read = ReadFile(options.job_file);
    if (!read.ok()) return At("--job_file", read.status());
    text = *std::move(read);
    folder = std::filesystem::absolute(options.job_file).parent_path();
  }
  auto description = ParseDescription(text, folder, model);
  if (!description.ok()) return At(name, description.status());
  description->name = name;
  return description;
}

// The model with all values. `architecture`: the model file of a job file; empty: there is none.
absl::StatusOr<SubmittedModel> ReadModelWithValues(const std::string& file,
                                                   const std::string& architecture) {
  CAIRN_ASSIGN_OR_RETURN(nn::ImportedModel imported, ReadImportedModel(file));
  if (imported.weights.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": it has no weights; name a file with an architecture and weights"));
  }
  if (!imported.spec.layers().empty()) return CheckImportedModel(file, std::move(imported));
  if (architecture.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file,
        ": it has weights without an architecture; name a job file with its \"model\": --job_file "
        "JOB.json"));
  }
  CAIRN_ASSIGN_OR_RETURN(SubmittedModel model, ReadModelFile(architecture));
  model.weights.clear();
  CAIRN_ASSIGN_OR_RETURN(WarmStart start, StartFromFile(file, model, /*seed=*/0));
  if (!start.fresh.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": it lacks these variables of ",
                                                   architecture, ": ",
                                                   absl::StrJoin(start.fresh, ", ")));
  }
  model.weights = std::move(start.variables);
  return model;
}

// Makes the plan of a job with this model. Its data are read where their values matter.
absl::Status Plan(const DataDescription& description, const FileModelOptions& options,
                  const nn::Model& model, proto::JobPlan* plan) {
  proto::Job job = description.job;
  CAIRN_RETURN_IF_ERROR(job::ResolveOutputs(model, &job));
  CAIRN_RETURN_IF_ERROR(job::ResolveLabels("train", model, job.mutable_train()));
  if (job.has_validation()) {
    CAIRN_RETURN_IF_ERROR(job::ResolveLabels("validation", model, job.mutable_validation()));
  }
  CAIRN_RETURN_IF_ERROR(job::CheckDataFitsModel(job, model));
  CAIRN_RETURN_IF_ERROR(job::CheckMetricNames(job));
  proto::JobPlan known = *plan;
  *known.mutable_job() = job;
  if (!options.reads_validation) known.mutable_job()->clear_validation();
  CAIRN_ASSIGN_OR_RETURN(*plan, InspectOffline(known, options.machine));
  *plan->mutable_job() = std::move(job);
  const proto::DataPlan& data = plan->data();
  const bool is_prepared =
      !data.vocabularies().empty() || !data.fills().empty() || plan->job().train().standardize();
  if (description.has_train || !is_prepared) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "train: is missing; the data are prepared by the vocabularies and means of the training "
      "data");
}

}  // namespace

absl::StatusOr<TrainedModel> ReadFileModel(const std::string& file,
                                           const FileModelOptions& options) {
  const std::string absolute = std::filesystem::absolute(file).lexically_normal();
  DataDescription description;
  const bool is_described = !options.job_file.empty();
  if (is_described) {
    CAIRN_ASSIGN_OR_RETURN(description, ReadDescription(options, absolute));
  } else if (options.evaluates) {
    return absl::InvalidArgumentError(absl::StrCat(
        file,
        R"(: a model file has neither losses nor data; name a job file with them, or say --job_file )"
        R"('{"loss": "mse", "validation": {"npy": {"features": "x.npy", "labels": "y.npy"}}}')"));
  }
  const std::string& architecture = description.job.model();
  CAIRN_ASSIGN_OR_RETURN(SubmittedModel read,
                         ReadModelWithValues(file, architecture == absolute ? "" : architecture));
  description.job.set_model(absolute);
  TrainedModel trained;
  trained.has_train = description.has_train;
  trained.file = file;
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(read.spec));
  *trained.plan.mutable_model() = std::move(read.spec);
  trained.variables = std::move(read.weights);
  for (const nn::VariableSpec& variable : model->variables()) {
    auto* const placed = trained.plan.mutable_partition()->add_variables();
    placed->set_name(variable.name);
    placed->mutable_shape()->Assign(variable.shape.begin(), variable.shape.end());
  }
  trained.plan.set_batch_size(job::ResolveNumbers(description.job).batch_size);
  if (!is_described) {
    *trained.plan.mutable_job() = description.job;
    return trained;
  }
  const absl::Status planned = Plan(description, options, *model, &trained.plan);
  if (!planned.ok()) return At(description.name, planned);
  return trained;
}

}  // namespace cairn::cli
