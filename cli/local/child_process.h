#ifndef CAIRN_CLI_LOCAL_CHILD_PROCESS_H_
#define CAIRN_CLI_LOCAL_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::cli {

struct ChildOptions {
  std::vector<std::string> command;      // command[0] is the program's path.
  std::vector<std::string> environment;  // All of it, as NAME=VALUE.
  std::string output_file;               // Standard output and error, appended.
  // In a session of its own and left alone by ~ChildProcess: it outlives this process, and the
  // terminal.
  bool is_detached = false;
};

// One program that this process has started, in a process group of its own (Ctrl-C on the terminal
// does not reach it). Unless detached it is killed when the *thread* that started it ends, so also
// when this process dies, however. Not thread-safe.
class ChildProcess {
 public:
  // NotFound and others, naming the program or the output file: it could not be started.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const ChildOptions& options);
  // Kills it if it still runs and is not detached.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Does nothing once the end was seen.
  void Signal(int signal) const;

  // Its exit code, or 128 + the signal that ended it; nullopt while it runs. Does not block.
  std::optional<int> TryWait();

 private:
  ChildProcess(pid_t pid, bool is_detached) : pid_(pid), is_detached_(is_detached) {}

  const pid_t pid_;
  const bool is_detached_;
  std::optional<int> exit_code_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_CHILD_PROCESS_H_
