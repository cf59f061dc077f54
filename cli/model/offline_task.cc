#include "cli/model/offline_task.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/files.h"
#include "cli/local/unnamed_file.h"
#include "cluster/child_process.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr std::chrono::milliseconds kPollInterval(5);

std::string Bytes(const std::vector<std::vector<float>>& variables) {
  std::string bytes;
  for (const std::vector<float>& values : variables) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  return bytes;
}

absl::Status RunWorker(const OfflineOptions& options, const std::string& task,
                       const std::string& log) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  cluster::ChildOptions child;
  child.command = {options.worker_program, "--evaluate", task, "--threads", absl::StrCat(threads)};
  child.environment = options.environment;
  child.output_file = log;
  CAIRN_ASSIGN_OR_RETURN(const auto worker, cluster::ChildProcess::Start(child));
  while (!worker->TryWait()) std::this_thread::sleep_for(kPollInterval);
  const int exit_code = *worker->TryWait();
  if (exit_code == 0) return absl::OkStatus();
  const auto said = ReadFile(log);
  return absl::InternalError(absl::StrCat("the worker ended with exit code ", exit_code, ": ",
                                          said.ok() ? *said : "without a message"));
}

absl::StatusOr<std::vector<float>> ReadFloats(const std::string& file) {
  CAIRN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
  std::vector<float> values(bytes.size() / sizeof(float));
  // Without any there is no place to copy them to.
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Runs the worker on the task, whose other files are there. Returns the result that it writes.
absl::StatusOr<proto::EvaluationResult> RunTask(proto::EvaluationTask task,
                                                const OfflineOptions& options,
                                                const std::string& folder) {
  CAIRN_ASSIGN_OR_RETURN(const UnnamedFile results, UnnamedFile::Make(folder));
  CAIRN_ASSIGN_OR_RETURN(const UnnamedFile task_file, UnnamedFile::Make(folder));
  CAIRN_ASSIGN_OR_RETURN(const UnnamedFile log, UnnamedFile::Make(folder));
  task.set_result_file(results.path());
  CAIRN_RETURN_IF_ERROR(task_file.Write(task.SerializeAsString()));
  CAIRN_RETURN_IF_ERROR(RunWorker(options, task_file.path(), log.path()));
  CAIRN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(results.path()));
  proto::EvaluationResult result;
  const bool is_read = result.ParseFromString(bytes);
  if (!result.error().empty()) return absl::InvalidArgumentError(result.error());
  if (!is_read || result.has_plan() != task.inspects() ||
      result.outputs_size() != task.predictions_files_size()) {
    return absl::InternalError("the worker's result cannot be read");
  }
  return result;
}

}  // namespace

absl::StatusOr<proto::EvaluationResult> RunOfflineTask(const TrainedModel& trained,
                                                       const OfflineOptions& options,
                                                       std::vector<std::vector<float>>* outputs) {
  const std::string folder = TemporaryFolder(options.environment);
  CAIRN_ASSIGN_OR_RETURN(const UnnamedFile values, UnnamedFile::Make(folder));
  std::vector<UnnamedFile> output_files;
  const int predictions = outputs == nullptr ? 0 : trained.plan.model().outputs_size();
  proto::EvaluationTask task;
  *task.mutable_plan() = trained.plan;
  task.set_values_file(values.path());
  task.set_data_name(options.data_name);
  for (int i = 0; i < predictions; ++i) {
    CAIRN_ASSIGN_OR_RETURN(UnnamedFile file, UnnamedFile::Make(folder));
    task.add_predictions_files(file.path());
    output_files.push_back(std::move(file));
  }
  CAIRN_RETURN_IF_ERROR(values.Write(Bytes(trained.variables)));
  CAIRN_ASSIGN_OR_RETURN(proto::EvaluationResult result, RunTask(std::move(task), options, folder));
  for (const UnnamedFile& file : output_files) {
    CAIRN_ASSIGN_OR_RETURN(outputs->emplace_back(), ReadFloats(file.path()));
  }
  return result;
}

absl::StatusOr<proto::JobPlan> InspectOffline(const proto::JobPlan& plan,
                                              const OfflineOptions& options) {
  proto::EvaluationTask task;
  *task.mutable_plan() = plan;
  task.set_inspects(true);
  CAIRN_ASSIGN_OR_RETURN(proto::EvaluationResult result,
                         RunTask(std::move(task), options, TemporaryFolder(options.environment)));
  return std::move(*result.mutable_plan());
}

}  // namespace cairn::cli
