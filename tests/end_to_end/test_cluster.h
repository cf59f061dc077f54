#ifndef CAIRN_TESTS_END_TO_END_TEST_CLUSTER_H_
#define CAIRN_TESTS_END_TO_END_TEST_CLUSTER_H_

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/common/faulty_files.h"
#include "tests/end_to_end/process.h"

namespace cairn::testing {

// A new folder in the test's temporary folder. The destructor removes it.
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
  // Parses standard output as one JSON object for each line.
  std::vector<nlohmann::json> lines() const;
};

// Runs `cairn` until it exits. Kills it after `timeout`; the exit code is then -1.
CommandResult RunCairn(const std::vector<std::string>& arguments,
                       std::chrono::seconds timeout = std::chrono::seconds(120),
                       const std::map<std::string, std::string>& environment = {});

// The path of a program, such as "cli/cairn" or "worker/worker", in the test's runfiles.
std::string ProgramPath(const std::string& name);

// A cluster of real daemons. Each is started with TF_CONFIG as on a separate machine; the test can
// kill and restart it. Not thread-safe.
class TestCluster {
 public:
  // Without ps the workers hold the parameters.
  TestCluster(int ps_count, int worker_count, const std::vector<std::string>& ps_flags = {});

  // Starts all tasks that do not run.
  void StartAll();
  // Starts a task that does not run: "chief", "ps" or "worker", with further flags for this start
  // only. When it returns, the chief answers or has exited.
  void Start(const std::string& type, int index, const std::vector<std::string>& flags = {});
  // As Start, without waiting: for a task that may hang.
  void Launch(const std::string& type, int index, const std::vector<std::string>& flags = {});
  Process& task(const std::string& type, int index) {
    return processes_[type + std::to_string(index)];
  }
  // Sends SIGKILL to all tasks, as closely together as possible.
  void KillAll();
  // Sets the number of tasks of a type, at new addresses, for the next StartAll. No task may be
  // running. Without a "chief" worker 0 stands in; the caller waits for its coordinator.
  void Resize(const std::string& type, int count);
  // Gives each task a separate state directory, as on machines without shared storage. Call it
  // before StartAll.
  void SeparateDisks() { separate_disks_ = true; }
  // Adds flags to the programs of a type that are started from now on.
  void AddFlags(const std::string& type, const std::vector<std::string>& flags);
  // The working directory of a task that is started from now on.
  void SetFolder(const std::string& type, int index, const std::string& folder) {
    folders_[type + std::to_string(index)] = folder;
  }
  // Starts this program, by its path in the runfiles, as the tasks of a type from now on.
  void UseProgram(const std::string& type, const std::string& program) {
    programs_[type] = program;
  }
  // The faults of a task's files. The first call must precede the task's start.
  FaultyFiles& FilesOf(const std::string& type, int index);
  // Records what tasks that are started from now on write and sync. Call it before StartAll.
  void RecordSyncs() { record_syncs_ = true; }
  // Kills all tasks, and does to their files what a power failure does. Returns the number of files
  // that it changed.
  int LosePower();
  // Empties the disk of a ps, which must not be running.
  void WipeDisk(int ps);

  // Runs `cairn ARGUMENTS --coordinator ...`.
  CommandResult Cairn(std::vector<std::string> arguments,
                      std::chrono::seconds timeout = std::chrono::seconds(120));
  // The result of `cairn status JOB --json`; an empty object while the coordinator does not answer.
  nlohmann::json Status(const std::string& job);
  // What `cairn cluster --json` says about a task; an empty object if it is not named there.
  nlohmann::json Member(const std::string& role, int index);
  // Waits until a job has ended and returns its last status.
  nlohmann::json WaitForEnd(const std::string& job, std::chrono::seconds timeout);

  std::string folder(const std::string& name) const { return folder_.path(name); }
  std::string coordinator_address() const;
  int port(const std::string& type, int index) const;
  std::string LogOf(const std::string& type, int index) const;
  std::string Logs() const;

 private:
  std::string TfConfig(const std::string& type, int index) const;
  std::string FaultsOf(const std::string& type, int index) const;
  std::string StateOf(const std::string& type, int index) const;

  TemporaryFolder folder_;
  std::map<std::string, std::vector<std::string>> addresses_;
  std::map<std::string, std::vector<std::string>> flags_;
  std::map<std::string, std::string> programs_;
  std::map<std::string, std::string> folders_;
  std::map<std::string, FaultyFiles> faults_;
  bool separate_disks_ = false;
  bool record_syncs_ = false;
  std::map<std::string, Process> processes_;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_TEST_CLUSTER_H_
