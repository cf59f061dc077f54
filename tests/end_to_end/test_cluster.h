#ifndef CAIRN_TESTS_END_TO_END_TEST_CLUSTER_H_
#define CAIRN_TESTS_END_TO_END_TEST_CLUSTER_H_

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/end_to_end/process.h"

namespace cairn::testing {

// A folder of its own under the test's temporary folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct CommandResult {
  int exit_code = -1;
  std::string output;
  std::string errors;
  // Standard output as one JSON object a line.
  std::vector<nlohmann::json> lines() const;
};

// Runs `cairn` to its end (or kills it after `timeout`: exit code -1).
CommandResult RunCairn(const std::vector<std::string>& arguments,
                       std::chrono::seconds timeout = std::chrono::seconds(120),
                       const std::map<std::string, std::string>& environment = {});

// The program's path in the test's runfiles: "cli/cairn", "worker/worker".
std::string ProgramPath(const std::string& name);

// A cluster of real daemons, each started by hand with TF_CONFIG as on separate machines, and
// killed and started again as the test likes. Not thread-safe.
class TestCluster {
 public:
  TestCluster(int ps_count, int worker_count, std::vector<std::string> ps_flags = {});

  // Starts all that do not run.
  void StartAll();
  // Starts a task that does not run. Tasks are "chief", "ps", "worker". The chief answers, or has
  // ended, when this returns.
  void Start(const std::string& type, int index);
  Process& task(const std::string& type, int index) {
    return processes_[type + std::to_string(index)];
  }
  // SIGKILL to every task, as near to at once as signals go.
  void KillAll();
  // Another number of ps, at new addresses, when StartAll is called next. Nothing may run.
  void ResizePs(int ps_count);
  // Each task has a state directory of its own, as on machines that share nothing. Before StartAll.
  void SeparateDisks() { separate_disks_ = true; }
  // The ps does not run; its disk is empty from now on.
  void WipeDisk(int ps);

  // `cairn ARGUMENTS --coordinator ...`.
  CommandResult Cairn(std::vector<std::string> arguments,
                      std::chrono::seconds timeout = std::chrono::seconds(120));
  // `cairn status JOB --json`; an empty object while the coordinator does not answer.
  nlohmann::json Status(const std::string& job);
  // Waits for a job's end; the last status.
  nlohmann::json WaitForEnd(const std::string& job, std::chrono::seconds timeout);

  std::string folder(const std::string& name) const { return folder_.path(name); }
  std::string coordinator_address() const;
  int port(const std::string& type, int index) const;
  std::string Logs() const;

 private:
  std::string TfConfig(const std::string& type, int index) const;
  std::string StateOf(const std::string& type, int index) const;

  TemporaryFolder folder_;
  std::map<std::string, std::vector<std::string>> addresses_;
  std::vector<std::string> ps_flags_;
  bool separate_disks_ = false;
  std::map<std::string, Process> processes_;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_TEST_CLUSTER_H_
