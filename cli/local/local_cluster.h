#ifndef CAIRN_CLI_LOCAL_LOCAL_CLUSTER_H_
#define CAIRN_CLI_LOCAL_LOCAL_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/local/cluster_file.h"

namespace cairn::cli {

struct LocalClusterOptions {
  std::string state;            // Locked by the caller (StateLock).
  std::string programs_folder;  // See FindProgram.
  int ps = 2;                   // 0: the workers hold the parameters.
  int workers = 2;
  int evaluators = 0;
  std::string device;  // The --device of workers and evaluators; empty: not given.
  std::vector<std::string> environment;  // Of this process, NAME=VALUE; TF_CONFIG is replaced.
  // Further flags for the daemon of a task ("coordinator", "ps-0"); may be null.
  std::function<absl::StatusOr<std::vector<std::string>>(const std::string& task,
                                                         const ClusterFile& cluster)>
      more_flags;
  // Receives a line for people when a daemon has died and is started again. Called on any thread;
  // may be null.
  std::function<void(const std::string&)> on_event;
  // Called once, when failure() becomes an error. Called on any thread; may be null.
  std::function<void()> on_failure;
};

// A coordinator, ps, workers and evaluators as child processes of this process. They listen on free
// loopback ports (those of the last run, if they are still free) and log to STATE/logs. They end
// with this process, however it ends. A daemon that dies is started again, with back-off. The
// cluster fails if a daemon cannot run (exit code 1 to 127), or if the state directory is removed.
// If the state directory does not answer, an event says so, and nothing waits for it for long.
// Thread-safe.
class LocalCluster {
 public:
  // Returns when all processes have started; they may not be ready yet. The state directory may
  // have had another number of ps: blocks move. Unavailable: it does not answer.
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Start(LocalClusterOptions options);
  // Calls Stop with 5 s.
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  // Calls `disturb` with the pid of each of these tasks ("ps-0") that runs, as closely together as
  // possible, for a drill: tasks that it ends are started again. Returns whether all of them ran.
  bool Disturb(const std::vector<std::string>& tasks,
               const std::function<void(int64_t pid)>& disturb);

  const std::string& coordinator_address() const;

  // OK while all daemons can run. Else names the one that cannot, with the last lines of its log.
  // The others run until Stop.
  absl::Status failure() const;

  // Sends SIGTERM to all daemons, and after `grace` SIGKILL to those that still run. Returns when
  // all have ended. May be called more than once.
  void Stop(absl::Duration grace);

 private:
  class Supervisor;
  explicit LocalCluster(std::unique_ptr<Supervisor> supervisor);
  const std::unique_ptr<Supervisor> supervisor_;
};

// "1 coordinator, 2 ps, 1 worker".
std::string TasksText(int ps, int workers, int evaluators = 0);

// The numbers of tasks of a local cluster, as far as they were given.
struct AskedTasks {
  int ps = -1;      // -1: not given.
  int workers = 0;  // 0: not given.
  int evaluators = 0;
};

// The numbers to start on a state directory. Those that were not given are the ones of its last
// cluster, or 2. The number of workers is only taken from a cluster whose workers hold the
// parameters.
absl::StatusOr<AskedTasks> ChooseTasks(const std::string& state, AskedTasks asked);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_LOCAL_CLUSTER_H_
