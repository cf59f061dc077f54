#ifndef CAIRN_CLI_LOCAL_DAEMON_TASK_H_
#define CAIRN_CLI_LOCAL_DAEMON_TASK_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "cli/local/child_process.h"

namespace cairn::cli {

// One daemon that is to run: started again, with back-off, when it ends and its exit code says that
// this may help (128 and up, killed by a signal included, or 0). Not thread-safe; to be used on one
// thread only, as ChildProcess.
class DaemonTask {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // What Watch saw.
  struct Event {
    std::string note;            // One line for people, or nothing.
    bool started_again = false;  // It has another pid now.
    absl::Status failure;        // It will not be started again, and why.
  };

  DaemonTask(std::string name, ChildOptions options);

  const std::string& name() const { return name_; }
  // 0 when it does not run.
  int64_t pid() const { return child_ == nullptr ? 0 : child_->pid(); }

  absl::Status Start();
  // Looks whether it has ended, and starts it again when that is due. Does not block.
  Event Watch(Time now);
  // Nothing is started again after a Signal.
  void Signal(int signal);
  bool IsRunning();

 private:
  Event OnEnd(int exit_code, Time now);

  std::string name_;
  ChildOptions options_;
  std::unique_ptr<ChildProcess> child_;
  Time started_at_{};
  Time start_due_{};
  int quick_ends_ = 0;
  bool is_wanted_ = true;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_DAEMON_TASK_H_
