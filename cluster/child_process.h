#ifndef CAIRN_CLUSTER_CHILD_PROCESS_H_
#define CAIRN_CLUSTER_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::cluster {

struct ChildOptions {
  std::vector<std::string> command;      // command[0] is the program's path.
  std::vector<std::string> environment;  // The whole environment, as NAME=VALUE.
  // Standard output and error, appended. Empty: those of this process. Unavailable: its disk does
  // not answer.
  std::string output_file;
  // Start it in a session of its own, and let ~ChildProcess leave it alone, so that it outlives
  // this process and the terminal.
  bool is_detached = false;
};

// A program that this process has started. It has its own process group, so Ctrl-C on the terminal
// does not reach it. Unless it is detached, the kernel kills it when the *thread* that started it
// ends, and so also when this process dies for any reason. Not thread-safe.
class ChildProcess {
 public:
  // Errors (NotFound and others) contain the name of the program or of the output file.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const ChildOptions& options);
  // Kills it if it still runs and is not detached. Waits for its end, but not for good: a process
  // that waits for a disk may not end.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Does nothing after TryWait has returned an exit code.
  void Signal(int signal) const;

  // Its exit code, or 128 + the signal that ended it; nullopt while it runs. Does not block.
  std::optional<int> TryWait();

 private:
  ChildProcess(pid_t pid, bool is_detached) : pid_(pid), is_detached_(is_detached) {}

  const pid_t pid_;
  const bool is_detached_;
  std::optional<int> exit_code_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_CHILD_PROCESS_H_
