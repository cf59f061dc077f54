#include "cli/model/evaluation.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/files.h"
#include "cli/local/child_process.h"
#include "common/status_macros.h"
#include "proto/evaluation.pb.h"

namespace cairn::cli {
namespace {

constexpr std::chrono::milliseconds kPollInterval(5);

// Removed with all that is in it.
class TemporaryFolder {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Make(const std::string& parent) {
    std::string path = parent + "/cairn-evaluate-XXXXXX";
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

absl::Status RunWorker(const EvaluationOptions& options, const std::string& task,
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
  return absl::InternalError(absl::StrCat("the evaluation ended with exit code ", exit_code, ": ",
                                          said.ok() ? *said : "it said nothing"));
}

}  // namespace

absl::StatusOr<proto::EvaluationRecord> Evaluate(const TrainedModel& trained,
                                                 const EvaluationOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(const auto folder, TemporaryFolder::Make(options.temporary_folder));
  proto::EvaluationTask task;
  *task.mutable_plan() = trained.plan;
  task.set_values_file(folder->File("values"));
  task.set_result_file(folder->File("result"));
  CAIRN_RETURN_IF_ERROR(WriteFile(task.values_file(), Bytes(trained.variables)));
  CAIRN_RETURN_IF_ERROR(WriteFile(folder->File("task"), task.SerializeAsString()));
  CAIRN_RETURN_IF_ERROR(RunWorker(options, folder->File("task"), folder->File("log")));
  CAIRN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(task.result_file()));
  proto::EvaluationResult result;
  if (!result.ParseFromString(bytes)) {
    return absl::InternalError("the evaluation's result cannot be read");
  }
  if (!result.error().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(result.error(), " (evaluate reads the data on this machine)"));
  }
  return result.record();
}

}  // namespace cairn::cli
