#ifndef CAIRN_CLUSTER_DAEMON_H_
#define CAIRN_CLUSTER_DAEMON_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cluster/address.h"
#include "cluster/tf_config.h"

namespace cairn::cluster {

// Exit codes of the daemons. 1 to 127: a restart will not help. 128 and higher: restart.
inline constexpr int kExitPermanent = 1;
inline constexpr int kExitBadUsage = 2;
inline constexpr int kExitRestart = 129;
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitTerminated = 143;

// Configures glibc's malloc not to return large blocks to the system. Messages of a few MiB are
// allocated and freed continuously; by default each would be mapped and unmapped, with page faults
// on every use, which makes a step 1.05 to 1.25 times as slow. Daemon::Start calls it. Other
// programs that exchange many messages call it before they start threads.
void KeepMemory();

struct DaemonOptions {
  std::string program;  // "ps_server"; the name in the log.
  std::string log_level = "info";
  std::string log_file;  // Log to this file as well as to standard error; empty: none.
  // Stopping may take this long; then the process exits without completing it.
  absl::Duration stop_timeout = absl::Seconds(10);
};

// Startup and shutdown of ps_server, worker and coordinator: logging, signals, memory settings and
// the exit code. Create one in main before any other thread:
//
//   auto daemon = Daemon::Start(options);
//   ... start servers and sessions; they may call daemon->Exit ...
//   return daemon->Run([&] { ... stop them ... });
class Daemon {
 public:
  // Initializes logging; blocks SIGTERM and SIGINT in this and all later threads (Run waits for
  // them); ignores SIGPIPE and SIGXFSZ, because the failing call reports the error; configures
  // malloc; raises the file descriptor limit to its hard limit. FailedPrecondition: see
  // CheckAddressSpace. InvalidArgument, Unavailable: see InitLogging.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const DaemonOptions& options);
  // After Run: exits the process with Run's code if the log hangs, because exit() would hang, too.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Makes Run stop and return `code`, and logs `reason` as the last line. Only the first call has
  // an effect. Thread-safe; does not block.
  void Exit(int code, const std::string& reason);

  // Whether the process, which was told to end by a signal `waited` ago, should go on for a while.
  // Must not block.
  using IsNeeded = std::function<bool(absl::Duration waited)>;

  // Waits for SIGTERM (143), SIGINT (130) or Exit, calls `stop`, and returns the exit code. If
  // `stop` takes longer than stop_timeout, exits the process with this code. After a signal, `stop`
  // is called once `is_needed` (may be null) returns false; it is asked several times a second.
  // Another signal or Exit ends that wait.
  int Run(const std::function<void()>& stop, const IsNeeded& is_needed = nullptr);

 private:
  class Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Ends the process at once, without waiting for any thread, so that it is started again. Logs why.
[[noreturn]] void ExitToRestart(const std::string& why);

// Logs a warning if other machines can reach `own`: Cairn does not authenticate its clients.
void WarnOfOpenPort(const Address& own);

// Prints the error that prevents a daemon from starting to standard error. Returns the exit code:
// kExitRestart for Unavailable, ResourceExhausted, Internal and AlreadyExists (the port may still
// be in use by the previous process), otherwise kExitPermanent. If standard error hangs, exits the
// process with this code.
int ReportFailure(const std::string& program, const absl::Status& status);

// Parses TF_CONFIG from `file`, or, if that is empty, from `environment` (the value of the
// variable). NotFound: both are empty. InvalidArgument: the file cannot be read, or the
// configuration is invalid.
absl::StatusOr<TfConfig> LoadTfConfig(const std::string& file, const std::string& environment);

// Returns InvalidArgument: names the task of `config` and appends what the program `needs`.
absl::Status WrongTask(const TfConfig& config, const std::string& needs);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_DAEMON_H_
