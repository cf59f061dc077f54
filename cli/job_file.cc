#include "cli/job_file.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/files.h"
#include "cli/json_text.h"
#include "cli/json_to_message.h"
#include "cli/output_fields.h"
#include "common/status_macros.h"
#include "job/data_pipeline.h"
#include "job/data_source.h"
#include "job/data_url.h"
#include "job/job_name.h"
#include "job/job_numbers.h"
#include "job/model_objectives.h"
#include "nn/formats/model_file.h"

namespace cairn::cli {
namespace {

absl::Status Bad(std::string_view path, std::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(path), ": ", std::string(problem)));
}

absl::Status Missing(std::string_view path, std::string_view example) {
  return Bad(path, absl::StrCat("is missing; for example ", std::string(example)));
}

absl::Status CheckResumeFrom(const proto::Job& job) {
  const proto::ResumeFrom& from = job.resume_from();
  if (!job.has_resume_from()) return absl::OkStatus();
  if (from.name().empty()) return Missing("resume_from.name", R"("name": "fashion_mnist")");
  if (ResumesFromFile(job) && (from.has_best() || from.has_checkpoint() || from.has_state())) {
    return Bad("resume_from.name",
               absl::StrCat("\"", from.name(),
                            "\" is a file, so that \"checkpoint\", \"best\" and "
                            "\"state\" have no meaning"));
  }
  if (from.best() && from.has_checkpoint()) {
    return Bad("resume_from.best", "conflicts with \"checkpoint\"; keep one of them");
  }
  if (from.has_checkpoint() && from.checkpoint() == 0) {
    return Bad("resume_from.checkpoint", "0 is not a checkpoint; their numbers start at 1");
  }
  return absl::OkStatus();
}

// True if any output has a loss.
bool SaysLoss(const proto::Job& job) {
  return job.has_loss() ||
         std::any_of(job.outputs().begin(), job.outputs().end(),
                     [](const proto::TrainedOutput& output) { return output.has_loss(); });
}

absl::Status CheckJob(const proto::Job& job) {
  CAIRN_RETURN_IF_ERROR(job::CheckJobName(job.name()));
  if (job.model().empty() && !job::HasModels(job)) {
    return Missing("model", R"("model": "model.json")");
  }
  if (!job.has_train()) {
    return Missing("train", R"("train": {"npy": {"features": "x.npy", "labels": "y.npy"}})");
  }
  // First: it refuses a validation, whose fields need no check then.
  if (job::HasModels(job)) CAIRN_RETURN_IF_ERROR(job::CheckModelObjectives(job));
  CAIRN_RETURN_IF_ERROR(job::CheckJobData(job));
  if (job::HasModels(job)) {
    CAIRN_RETURN_IF_ERROR(job::ValidateJobLimits(job));
    return CheckResumeFrom(job);
  }
  if (!SaysLoss(job)) return Missing("loss", R"("loss": "sparse_categorical_crossentropy")");
  if (job.has_loss() && job.loss().name().empty()) return Missing("loss.name", R"("name": "mse")");
  if (!job.has_optimizer()) return Missing("optimizer", R"("optimizer": "adam")");
  if (job.optimizer().name().empty()) return Missing("optimizer.name", R"("name": "adam")");
  CAIRN_RETURN_IF_ERROR(job::ValidateJobLimits(job));
  return CheckResumeFrom(job);
}

// Rejects a model file (from Keras's to_json, or of a TF.js layers model) in place of a job file.
absl::Status CheckIsNoModel(const nlohmann::json& json) {
  const bool is_model = json.is_object() && !json.contains("model") &&
                        (json.contains("class_name") || json.contains("modelTopology"));
  if (!is_model) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "this is a model; a job file names it by \"model\" and describes how to train it (cairn init "
      "writes one to start from)");
}

// Takes fields whose JSON differs from the message.
absl::Status TakeOwnForms(nlohmann::json* json, proto::Job* job) {
  CAIRN_RETURN_IF_ERROR(TakeOutputs(json, job));
  if (!json->is_object()) return absl::OkStatus();
  if (const auto train = json->find("train"); train != json->end()) {
    CAIRN_RETURN_IF_ERROR(TakeLabels("train", &*train, job->mutable_train()));
  }
  if (const auto validation = json->find("validation"); validation != json->end()) {
    CAIRN_RETURN_IF_ERROR(TakeLabels("validation", &*validation, job->mutable_validation()));
  }
  return absl::OkStatus();
}

void Resolve(const std::filesystem::path& folder, std::string* file) {
  *file = (folder / *file).lexically_normal().string();
}

// Addresses stay as they are.
void ResolveData(const std::filesystem::path& folder, proto::DataSource* data) {
  for (const job::DataFile& file : job::FilesOf("", data)) {
    if (!job::IsDataUrl(*file.name)) Resolve(folder, file.name);
  }
}

// True if the file's name has an extension of the format.
bool HasExtension(const std::string& file, const job::DataFormat& format) {
  const absl::string_view name = absl::StripSuffix(file, ".gz");
  return std::any_of(
      format.extensions.begin(), format.extensions.end(),
      [&](const char* extension) { return absl::EndsWithIgnoreCase(name, extension); });
}

// True if the file has whole examples in the format of the training data: its name says so, or it
// is a folder and the format has folders.
bool HoldsExamples(const std::string& file, const proto::DataSource& train) {
  const job::DataFormat* format = job::FormatOf(train);
  std::error_code ignored;
  if (format != nullptr && format->has_folders && std::filesystem::is_directory(file, ignored)) {
    return true;
  }
  return format != nullptr && !format->has_array_files() && HasExtension(file, *format);
}

// The description of the training data with another file.
proto::DataSource TrainWithFile(const proto::DataSource& train, const std::string& file) {
  proto::DataSource data = train;
  job::ReplaceFiles({file}, &data);
  ResolveData(std::filesystem::current_path(), &data);
  return data;
}

bool LooksLikeJson(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos || text[begin] == '{' || text[begin] == '/';
}

// The error for a file that is not a description of data. Its example has the format of the file's
// extension or, if no format has it, that of the training data.
absl::Status NoDescription(const std::string& file, const proto::DataSource& train) {
  const auto& formats = job::DataFormats();
  const job::DataFormat* const train_format = job::FormatOf(train);
  const auto found =
      std::find_if(formats.begin(), formats.end(),
                   [&](const job::DataFormat& format) { return HasExtension(file, format); });
  if (found == formats.end() && train_format == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--data: ", file,
                     " has no JSON object; the job trains from a zip of sources, describe the "
                     "data as its \"validation\" in a job file does: --data '{\"zip\": [...]}'"));
  }
  const job::DataFormat& format = found != formats.end() ? *found : *train_format;
  proto::DataSource any;
  nlohmann::ordered_json source = {{format.lists(&any).field, file}};
  // Without labels, the columns are those of the training data.
  const bool has_labels = *format.labels_example != '\0';
  if (has_labels && (format.has_array_files() || &format != train_format)) {
    source["labels"] = format.labels_example;
  }
  const nlohmann::ordered_json example = {{format.name, source}};
  return absl::InvalidArgumentError(
      absl::StrCat("--data: ", file,
                   " has no JSON object; describe the data as \"validation\" in a job file does, "
                   "for example --data '",
                   example.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), "'"));
}

}  // namespace

bool IsModelFile(const std::string& name) {
  return absl::StrContains(name, '/') || nn::HasModelExtension(name);
}

bool ResumesFromFile(const proto::Job& job) { return IsModelFile(job.resume_from().name()); }

absl::StatusOr<proto::Job> ParseJobFile(std::string_view text, const std::string& folder) {
  CAIRN_ASSIGN_OR_RETURN(nlohmann::json json, ParseJson(text, Comments::kIgnored));
  CAIRN_RETURN_IF_ERROR(CheckIsNoModel(json));
  proto::Job job;
  CAIRN_RETURN_IF_ERROR(TakeOwnForms(&json, &job));
  CAIRN_RETURN_IF_ERROR(JsonToMessage(json, &job));
  if (job.has_train()) {
    CAIRN_RETURN_IF_ERROR(job::MoveStepsToSources("train", job.mutable_train()));
  }
  if (job.has_validation()) {
    CAIRN_RETURN_IF_ERROR(job::MoveStepsToSources("validation", job.mutable_validation()));
  }
  CAIRN_RETURN_IF_ERROR(CheckJob(job));
  if (!job.model().empty()) Resolve(folder, job.mutable_model());
  for (auto& [name, model] : *job.mutable_models()) Resolve(folder, &model);
  if (ResumesFromFile(job)) Resolve(folder, job.mutable_resume_from()->mutable_name());
  if (job.resume_from().has_state()) Resolve(folder, job.mutable_resume_from()->mutable_state());
  for (proto::Callback& callback : *job.mutable_callbacks()) {
    if (!callback.filename().empty()) Resolve(folder, callback.mutable_filename());
  }
  ResolveData(folder, job.mutable_train());
  if (job.has_validation()) ResolveData(folder, job.mutable_validation());
  return job;
}

absl::StatusOr<proto::Job> ReadJobFile(const std::string& file) {
  CAIRN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  const std::filesystem::path absolute = std::filesystem::absolute(file);
  auto job = ParseJobFile(text, absolute.parent_path().string());
  if (job.ok()) return job;
  return absl::Status(job.status().code(),
                      absl::StrCat(file, ": ", std::string(job.status().message())));
}

absl::StatusOr<proto::DataSource> ReadDataSource(const std::string& file_or_json,
                                                 const proto::DataSource& job_train) {
  const proto::DataSource train = job::TemplateOf(job_train);
  const bool is_json = !file_or_json.empty() && file_or_json[0] == '{';
  if (!is_json && HoldsExamples(file_or_json, train)) return TrainWithFile(train, file_or_json);
  std::string text = file_or_json;
  std::filesystem::path folder = std::filesystem::current_path();
  if (!is_json) {
    auto contents = ReadFile(file_or_json);
    if (!contents.ok()) {
      return absl::Status(
          contents.status().code(),
          absl::StrCat("--data is none of validation, train, a file and JSON in {}: ",
                       std::string(contents.status().message())));
    }
    text = *std::move(contents);
    if (!LooksLikeJson(text)) return NoDescription(file_or_json, train);
    folder = std::filesystem::absolute(file_or_json).parent_path();
  }
  const auto read = [&]() -> absl::StatusOr<proto::DataSource> {
    CAIRN_ASSIGN_OR_RETURN(nlohmann::json json, ParseJson(text, Comments::kIgnored));
    proto::DataSource data;
    CAIRN_RETURN_IF_ERROR(TakeLabels("", &json, &data));
    CAIRN_RETURN_IF_ERROR(JsonToMessage(json, &data));
    CAIRN_RETURN_IF_ERROR(job::MoveStepsToSources("validation", &data));
    proto::Job job;
    *job.mutable_train() = train;
    *job.mutable_validation() = data;
    CAIRN_RETURN_IF_ERROR(job::CheckJobData(job));
    ResolveData(folder, &data);
    return data;
  };
  auto data = read();
  if (data.ok()) return data;
  absl::string_view message = data.status().message();
  absl::ConsumePrefix(&message, "validation.");  // The source is not in a job file here.
  return absl::InvalidArgumentError(absl::StrCat(is_json ? "--data" : file_or_json, ": ", message));
}

}  // namespace cairn::cli
