#ifndef CAIRN_CLI_LOCAL_DAEMON_TASK_H_
#define CAIRN_CLI_LOCAL_DAEMON_TASK_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "cluster/child_process.h"

namespace cairn::cli {

// A daemon that is kept running. If it ends with exit code 0, or with 128 or more (which includes
// death by a signal), it is started again, with back-off. Exit codes 1 to 127 mean that a restart
// cannot help. Not thread-safe; use it on one thread only, because a ChildProcess ends with its
// thread.
class DaemonTask {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The result of Watch.
  struct Event {
    std::string note;            // A line for people, or empty.
    bool started_again = false;  // It has a new pid.
    absl::Status failure;        // Not OK: why it will not be started again.
  };

  DaemonTask(std::string name, cluster::ChildOptions options);

  const std::string& name() const { return name_; }
  // 0 if it does not run.
  int64_t pid() const { return child_ == nullptr ? 0 : child_->pid(); }

  absl::Status Start();
  // Checks whether it has ended, and starts it again when the back-off is over. Does not block.
  Event Watch(Time now);
  // Sends a signal. The daemon is not started again after this.
  void Signal(int signal);
  bool IsRunning();

 private:
  Event OnEnd(int exit_code, Time now);

  std::string name_;
  cluster::ChildOptions options_;
  std::unique_ptr<cluster::ChildProcess> child_;
  Time started_at_{};
  Time start_due_{};
  int quick_ends_ = 0;
  bool is_wanted_ = true;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_DAEMON_TASK_H_
