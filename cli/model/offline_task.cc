#include "cli/model/offline_task.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/files.h"
#include "cli/local/child_process.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr std::chrono::milliseconds kPollInterval(5);

// Removed with all that is in it.
class TemporaryFolder {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Make(const std::string& parent) {
    std::string path = parent + "/cairn-offline-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a folder in ", parent));
    }
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

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
  ChildOptions child;
  child.command = {options.worker_program, "--evaluate", task, "--threads", absl::StrCat(threads)};
  child.environment = options.environment;
  child.output_file = log;
  CAIRN_ASSIGN_OR_RETURN(const auto worker, ChildProcess::Start(child));
  while (!worker->TryWait()) std::this_thread::sleep_for(kPollInterval);
  const int exit_code = *worker->TryWait();
  if (exit_code == 0) return absl::OkStatus();
  const auto said = ReadFile(log);
  return absl::InternalError(absl::StrCat("the worker ended with exit code ", exit_code, ": ",
                                          said.ok() ? *said : "it said nothing"));
}

absl::StatusOr<std::vector<float>> ReadFloats(const std::string& file) {
  CAIRN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace

absl::StatusOr<proto::EvaluationResult> RunOfflineTask(const TrainedModel& trained,
                                                       const OfflineOptions& options,
                                                       std::vector<std::vector<float>>* outputs) {
  CAIRN_ASSIGN_OR_RETURN(const auto folder, TemporaryFolder::Make(options.temporary_folder));
  proto::EvaluationTask task;
  *task.mutable_plan() = trained.plan;
  task.set_values_file(folder->File("values"));
  task.set_result_file(folder->File("result"));
  const int predictions = outputs == nullptr ? 0 : trained.plan.model().outputs_size();
  for (int i = 0; i < predictions; ++i) {
    task.add_predictions_files(folder->File(absl::StrCat("output-", i)));
  }
  CAIRN_RETURN_IF_ERROR(WriteFile(task.values_file(), Bytes(trained.variables)));
  CAIRN_RETURN_IF_ERROR(WriteFile(folder->File("task"), task.SerializeAsString()));
  CAIRN_RETURN_IF_ERROR(RunWorker(options, folder->File("task"), folder->File("log")));
  CAIRN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(task.result_file()));
  proto::EvaluationResult result;
  const bool is_read = result.ParseFromString(bytes);
  if (!result.error().empty()) return absl::InvalidArgumentError(result.error());
  if (!is_read || result.outputs_size() != predictions) {
    return absl::InternalError("the worker's result cannot be read");
  }
  for (const std::string& file : task.predictions_files()) {
    CAIRN_ASSIGN_OR_RETURN(outputs->emplace_back(), ReadFloats(file));
  }
  return result;
}

}  // namespace cairn::cli
