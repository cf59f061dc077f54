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

// Exit codes of the daemons: 1 to 127 mean that starting again will not help, 128 and up that it
// will.
inline constexpr int kExitPermanent = 1;
inline constexpr int kExitBadUsage = 2;
inline constexpr int kExitRestart = 129;
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitTerminated = 143;

// Tells malloc to keep memory. Messages of some MiB come and go all the time: without this glibc
// would map and unmap each of them, and pay for fresh pages every time (1.05 to 1.25 times as
// slow). Daemon::Start does it; others that move many do it first thing.
void KeepMemory();

struct DaemonOptions {
  std::string program;  // "ps_server"; the name in the log.
  std::string log_level = "info";
  std::string log_file;  // Beside standard error; empty: none.
  // What may be spent on stopping before the process ends anyhow.
  absl::Duration stop_timeout = absl::Seconds(10);
};

// What the mains of ps_server, worker and coordinator share: the log, signals, memory settings and
// the way out. One per process, made before any other thread:
//
//   auto daemon = Daemon::Start(options);
//   ... start servers and sessions; they may call daemon->Exit ...
//   return daemon->Run([&] { ... stop them ... });
class Daemon {
 public:
  // Sets up the log, blocks SIGTERM and SIGINT for this and all later threads (Run takes them),
  // ignores SIGPIPE and SIGXFSZ (what fails is told by the call that failed), tells malloc to keep
  // memory that large messages come and go in, allows as many file descriptors as this process may
  // have, and logs that the program starts. InvalidArgument, Unavailable: as InitLogging.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const DaemonOptions& options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Makes Run end with this code; `reason` becomes the last line of the log. The first call counts.
  // Any thread; does not block.
  void Exit(int code, const std::string& reason);

  // Waits for SIGTERM (143), SIGINT (130) or Exit, calls `stop`, and returns the exit code. If
  // `stop` takes longer than stop_timeout the process ends right there, with the same code.
  int Run(const std::function<void()>& stop);

 private:
  class Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Logs a warning if others than this machine can reach the port that a daemon serves the cluster
// on: whoever does so may use it.
void WarnOfOpenPort(const Address& own);

// What main does when it cannot start: the reason goes to standard error as the last line. Returns
// the exit code: kExitRestart for Unavailable, ResourceExhausted and AlreadyExists (a port that the
// predecessor may still hold), else kExitPermanent.
int ReportFailure(const std::string& program, const absl::Status& status);

// TF_CONFIG from `file` unless that is empty, else from `environment` (the variable's value).
// NotFound: both are empty. InvalidArgument: it cannot be read or is wrong.
absl::StatusOr<TfConfig> LoadTfConfig(const std::string& file, const std::string& environment);

// InvalidArgument that says whose TF_CONFIG this is, and what the program `needs` instead.
absl::Status WrongTask(const TfConfig& config, const std::string& needs);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_DAEMON_H_
