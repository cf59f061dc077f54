#ifndef CAIRN_CLI_LOCAL_LOCAL_CLUSTER_H_
#define CAIRN_CLI_LOCAL_LOCAL_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace cairn::cli {

struct LocalClusterOptions {
  std::string state;            // Locked by the caller (StateLock).
  std::string programs_folder;  // See FindProgram.
  int ps = 2;
  int workers = 2;
  std::vector<std::string> environment;  // Of this process, NAME=VALUE; TF_CONFIG is replaced.
  // One line for people about a daemon that ended and was started again. Any thread; may be null.
  std::function<void(const std::string&)> on_event;
  // Called once, when failure() begins to be something else than OK. Any thread; may be null.
  std::function<void()> on_failure;
};

// A coordinator, ps and workers as children of this process, on free loopback ports (the same as
// last time where they are free still), with their logs in STATE/logs. A daemon that dies is
// started again, with back-off; one that says (by an exit code of 1 to 127) that it is of no use
// makes the cluster fail, and so does a state directory that is removed. Whatever happens to this
// process, the daemons end with it. Thread-safe.
class LocalCluster {
 public:
  // Returns when all are started, not when they are ready. FailedPrecondition: the state directory
  // belongs to another number of ps.
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Start(LocalClusterOptions options);
  // Stops.
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  const std::string& coordinator_address() const;

  // OK while all goes well; else which daemon cannot run, with the last lines of its log. The
  // others run on until Stop.
  absl::Status failure() const;

  // SIGTERM to all, SIGKILL after `grace` to those that are left, and waits for their ends. May be
  // called more than once.
  void Stop(absl::Duration grace);

 private:
  class Supervisor;
  explicit LocalCluster(std::unique_ptr<Supervisor> supervisor);
  const std::unique_ptr<Supervisor> supervisor_;
};

// "1 coordinator, 2 ps, 1 worker".
std::string TasksText(int ps, int workers);

// How many ps to start on a state directory: `asked`, or if that is 0 as many as last time, or 2.
absl::StatusOr<int> ChoosePsCount(const std::string& state, int asked);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_LOCAL_CLUSTER_H_
