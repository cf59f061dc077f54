#include "cli/model/job_files.h"

#include <glob.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/files.h"
#include "common/status_macros.h"
#include "job/data_source.h"
#include "nn/formats/model_file.h"

namespace cairn::cli {
namespace {

void AddData(proto::DataSource* source, std::vector<ReadFileName>* files) {
  for (const job::DataFile& file : job::FilesOf("", source)) {
    files->push_back({*file.name, "the job's data"});
  }
}

void AddModel(const std::string& model, std::vector<ReadFileName>* files) {
  files->push_back({model, "the job's model"});
  const auto json = ReadFile(model);
  if (!json.ok()) return;  // It lies on another machine.
  const auto weights =
      nn::ModelWeightFiles(*json, std::filesystem::path(model).filename().string());
  if (!weights.ok()) return;
  const std::filesystem::path folder = std::filesystem::path(model).parent_path();
  for (const std::string& name : *weights) {
    files->push_back({(folder / name).string(), "the job's model"});
  }
}

// The file of this name or, if there is none, those that match it.
std::vector<std::string> Matches(const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return {name};
  glob_t found{};
  std::vector<std::string> matches;
  if (glob(name.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    matches.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return matches;
}

}  // namespace

std::vector<ReadFileName> FilesOfJob(proto::Job job) {
  std::vector<ReadFileName> files;
  AddData(job.mutable_train(), &files);
  if (job.has_validation()) AddData(job.mutable_validation(), &files);
  if (!job.model().empty()) AddModel(job.model(), &files);
  for (const auto& [name, model] : job.models()) AddModel(model, &files);
  return files;
}

absl::Status CheckOverwritesNone(const std::string& flag, const std::string& output,
                                 const std::vector<ReadFileName>& read) {
  std::error_code ignored;
  if (!std::filesystem::exists(output, ignored)) return absl::OkStatus();
  for (const ReadFileName& file : read) {
    for (const std::string& name : Matches(file.name)) {
      if (!std::filesystem::equivalent(output, name, ignored)) continue;
      return absl::InvalidArgumentError(absl::StrCat(flag, ": ", output, " would overwrite ", name,
                                                     " (", file.what, "); choose another file"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckExportOverwritesNone(const std::string& flag, const nn::ExportFormat& format,
                                       const std::string& output, const proto::Job& job) {
  const std::vector<ReadFileName> read = FilesOfJob(job);
  for (const char* file : format.files) {
    CAIRN_RETURN_IF_ERROR(CheckOverwritesNone(flag, output + file, read));
  }
  return absl::OkStatus();
}

}  // namespace cairn::cli
