#include "cli/job_file.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/files.h"
#include "cli/job/output_fields.h"
#include "cli/json_text.h"
#include "cli/json_to_message.h"
#include "common/job_name.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"
#include "nn/data/data_source.h"

namespace cairn::cli {
namespace {

absl::Status Bad(std::string_view path, std::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(path), ": ", std::string(problem)));
}

absl::Status Missing(std::string_view path, std::string_view example) {
  return Bad(path, absl::StrCat("is missing; for example ", std::string(example)));
}

absl::Status CheckAtLeast(std::string_view path, bool is_set, int64_t value, int64_t least) {
  if (!is_set || value >= least) return absl::OkStatus();
  return Bad(path, absl::StrCat(value, " is not a whole number of ", least, " or more"));
}

absl::Status CheckOneOf(std::string_view path, bool is_set, const std::string& value,
                        std::initializer_list<const char*> known) {
  if (!is_set || std::find(known.begin(), known.end(), value) != known.end()) {
    return absl::OkStatus();
  }
  const std::vector<std::string> names(known.begin(), known.end());
  return Bad(path, absl::StrCat("\"", value, "\" is not one of ", absl::StrJoin(known, ", "),
                                DidYouMean(value, names)));
}

absl::Status CheckLength(const proto::Job& job) {
  if (job.has_epochs() == job.has_steps()) {
    return Bad("epochs", job.has_epochs() ? "stands beside \"steps\"; leave one of them"
                                          : "is missing, and \"steps\" too; say one of them");
  }
  CAIRN_RETURN_IF_ERROR(CheckAtLeast("epochs", job.has_epochs(), job.epochs(), 1));
  return CheckAtLeast("steps", job.has_steps(), job.steps(), 1);
}

absl::Status CheckStrategy(const proto::Job& job) {
  const auto& ps = job.strategy().parameter_server();
  const std::string path = "strategy.parameter_server";
  CAIRN_RETURN_IF_ERROR(
      CheckOneOf(path + ".mode", ps.has_mode(), ps.mode(), {"async", "sync", "stale"}));
  CAIRN_RETURN_IF_ERROR(CheckAtLeast(path + ".batches_per_update", ps.has_batches_per_update(),
                                     ps.batches_per_update(), 1));
  return CheckAtLeast(path + ".window", ps.has_window(), ps.window(), 0);
}

absl::Status CheckPolicies(const proto::Job& job) {
  const auto& checkpoint = job.checkpoint();
  CAIRN_RETURN_IF_ERROR(CheckAtLeast("checkpoint.every_steps", checkpoint.has_every_steps(),
                                     checkpoint.every_steps(), 1));
  CAIRN_RETURN_IF_ERROR(
      CheckAtLeast("checkpoint.keep", checkpoint.has_keep(), checkpoint.keep(), 1));
  if (checkpoint.has_copies() && (checkpoint.copies() < 1 || checkpoint.copies() > 2)) {
    return Bad("checkpoint.copies", absl::StrCat("is ", checkpoint.copies(), "; say 1 or 2"));
  }
  CAIRN_RETURN_IF_ERROR(CheckAtLeast("partitioner.min_slice_bytes",
                                     job.partitioner().has_min_slice_bytes(),
                                     job.partitioner().min_slice_bytes(), 1));
  return CheckOneOf("on_lost_checkpoint", job.has_on_lost_checkpoint(), job.on_lost_checkpoint(),
                    {"restart", "fail"});
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
    return Bad("resume_from.best", "stands beside \"checkpoint\"; leave one of them");
  }
  if (from.has_checkpoint() && from.checkpoint() == 0) {
    return Bad("resume_from.checkpoint", "0 is not the number of a checkpoint; they count from 1");
  }
  return absl::OkStatus();
}

// Whether it says what any output is trained for.
bool SaysLoss(const proto::Job& job) {
  return job.has_loss() ||
         std::any_of(job.outputs().begin(), job.outputs().end(),
                     [](const proto::TrainedOutput& output) { return output.has_loss(); });
}

absl::Status CheckJob(const proto::Job& job) {
  CAIRN_RETURN_IF_ERROR(CheckJobName(job.name()));
  if (job.model().empty()) return Missing("model", R"("model": "model.json")");
  if (!job.has_train()) {
    return Missing("train", R"("train": {"npy": {"features": "x.npy", "labels": "y.npy"}})");
  }
  CAIRN_RETURN_IF_ERROR(nn::CheckJobData(job));
  if (!SaysLoss(job)) return Missing("loss", R"("loss": "sparse_categorical_crossentropy")");
  if (job.has_loss() && job.loss().name().empty()) return Missing("loss.name", R"("name": "mse")");
  if (!job.has_optimizer()) return Missing("optimizer", R"("optimizer": "adam")");
  if (job.optimizer().name().empty()) return Missing("optimizer.name", R"("name": "adam")");
  if (!job.has_batch_size()) return Missing("batch_size", R"("batch_size": 128)");
  CAIRN_RETURN_IF_ERROR(CheckAtLeast("batch_size", true, job.batch_size(), 1));
  CAIRN_RETURN_IF_ERROR(CheckLength(job));
  CAIRN_RETURN_IF_ERROR(CheckStrategy(job));
  CAIRN_RETURN_IF_ERROR(CheckResumeFrom(job));
  return CheckPolicies(job);
}

// What the message has no field of its own for.
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

void ResolveData(const std::filesystem::path& folder, proto::DataSource* data) {
  for (const nn::DataFile& file : nn::FilesOf("", data)) Resolve(folder, file.name);
}

}  // namespace

bool ResumesFromFile(const proto::Job& job) {
  return job.resume_from().name().find('/') != std::string::npos;
}

absl::StatusOr<proto::Job> ParseJobFile(std::string_view text, const std::string& folder) {
  CAIRN_ASSIGN_OR_RETURN(nlohmann::json json, ParseJson(text, Comments::kIgnored));
  proto::Job job;
  CAIRN_RETURN_IF_ERROR(TakeOwnForms(&json, &job));
  CAIRN_RETURN_IF_ERROR(JsonToMessage(json, &job));
  CAIRN_RETURN_IF_ERROR(CheckJob(job));
  Resolve(folder, job.mutable_model());
  if (ResumesFromFile(job)) Resolve(folder, job.mutable_resume_from()->mutable_name());
  if (job.resume_from().has_state()) Resolve(folder, job.mutable_resume_from()->mutable_state());
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

absl::StatusOr<proto::DataSource> ReadDataSource(const std::string& file_or_json) {
  const bool is_json = !file_or_json.empty() && file_or_json[0] == '{';
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
    folder = std::filesystem::absolute(file_or_json).parent_path();
  }
  const auto read = [&]() -> absl::StatusOr<proto::DataSource> {
    CAIRN_ASSIGN_OR_RETURN(nlohmann::json json, ParseJson(text, Comments::kIgnored));
    proto::DataSource data;
    CAIRN_RETURN_IF_ERROR(TakeLabels("", &json, &data));
    CAIRN_RETURN_IF_ERROR(JsonToMessage(json, &data));
    proto::Job job;
    *job.mutable_train() = data;
    CAIRN_RETURN_IF_ERROR(nn::CheckJobData(job));
    ResolveData(folder, &data);
    return data;
  };
  auto data = read();
  if (data.ok()) return data;
  return absl::InvalidArgumentError(
      absl::StrCat(is_json ? "--data" : file_or_json, ": ", std::string(data.status().message())));
}

}  // namespace cairn::cli
