#include "cluster/daemon.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/log_control.h"
#include "common/logging.h"
#include "common/mutex.h"
#include "common/printable.h"
#include "common/process_info.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace cairn::cluster {
namespace {

// Exit sends it to wake Run.
constexpr int kWakeSignal = SIGUSR1;
constexpr absl::Duration kAskIfNeeded = absl::Milliseconds(20);
constexpr std::chrono::seconds kStartMayTake(10);
// The last lines of the log may take this long.
constexpr absl::Duration kLogMayTake = absl::Seconds(2);

// Every connection uses a file descriptor, and shells set the soft limit to 1024, far below the
// hard limit.
void RaiseDescriptorLimit() {
  constexpr rlim_t kEnough = 1 << 20;
  constexpr rlim_t kFew = 256;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kEnough));
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= kFew) return;
  CAIRN_LOG_WARNING("the file descriptor limit is low, and every connection uses one", "limit",
                    limit.rlim_cur, "fix", "raise it: ulimit -n, or systemd's LimitNOFILE");
}

sigset_t WaitedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, kWakeSignal);
  return signals;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const auto failed = [&path](int reason) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot read ", path, ", the file that should hold TF_CONFIG: ", std::strerror(reason)));
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return failed(EISDIR);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // Only peek shows whether the file is empty or cannot be read.
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || text.fail()) return failed(errno != 0 ? errno : EIO);
  return text.str();
}

}  // namespace

void KeepMemory() {
  constexpr int kMmapThresholdBytes = 32 << 20;  // The maximum that glibc accepts.
  constexpr int kTrimThresholdBytes = 1 << 30;
  constexpr int kTopPadBytes = 16 << 20;
  mallopt(M_MMAP_THRESHOLD, kMmapThresholdBytes);
  mallopt(M_TRIM_THRESHOLD, kTrimThresholdBytes);
  mallopt(M_TOP_PAD, kTopPadBytes);
}

class Daemon::Impl {
 public:
  explicit Impl(DaemonOptions options) : options_(std::move(options)) {
    start_watch_ = std::thread([this] { WatchStart(); });
  }
  ~Impl() {
    Started();
    {
      MutexLock lock(&mutex_);
      stopped_ = true;
      changed_.NotifyAll();
    }
    if (stop_watch_.joinable()) stop_watch_.join();
    if (exit_code_.has_value() && !FlushLog(kLogMayTake)) _exit(*exit_code_);
  }

  void Exit(int code, const std::string& reason);
  int Run(const std::function<void()>& stop, const IsNeeded& is_needed);

 private:
  struct Ending {
    int code = 0;
    std::string reason;
  };

  Ending WaitForEnding();
  // Returns when the process is not needed any more, or is told again to end.
  void GoOnWhile(const IsNeeded& is_needed);
  // Repeats a warning until Started is called.
  void WatchStart();
  void Started();
  // Exits the process unless stopped_ is set before the timeout.
  void Watch(int code);

  const DaemonOptions options_;
  const pid_t pid_ = getpid();

  Mutex mutex_;
  ConditionVariable changed_;
  bool exiting_ ABSL_GUARDED_BY(mutex_) = false;
  Ending ending_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<int> exit_code_;  // Run has returned it.
  std::thread start_watch_;
  std::thread stop_watch_;
};

void Daemon::Impl::WatchStart() {
  std::chrono::seconds waited(0);
  MutexLock lock(&mutex_);
  while (!started_) {
    if (changed_.WaitFor(&mutex_, kStartMayTake) || started_) continue;
    waited += kStartMayTake;
    CAIRN_LOG_WARNING("still starting: a disk or a device does not answer", "seconds",
                      waited.count());
  }
}

void Daemon::Impl::Started() {
  {
    MutexLock lock(&mutex_);
    started_ = true;
    changed_.NotifyAll();
  }
  if (start_watch_.joinable()) start_watch_.join();
}

void Daemon::Impl::Exit(int code, const std::string& reason) {
  MutexLock lock(&mutex_);
  if (std::exchange(exiting_, true)) return;
  ending_ = {code, reason};
  // Sent to the process: the signal is blocked in all threads, so it stays pending if Run has not
  // started yet.
  kill(pid_, kWakeSignal);
}

Daemon::Impl::Ending Daemon::Impl::WaitForEnding() {
  const sigset_t signals = WaitedSignals();
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (signal == SIGTERM) return {kExitTerminated, "SIGTERM"};
    if (signal == SIGINT) return {kExitInterrupted, "SIGINT"};
    MutexLock lock(&mutex_);
    if (exiting_) return ending_;
  }
}

void Daemon::Impl::GoOnWhile(const IsNeeded& is_needed) {
  const sigset_t signals = WaitedSignals();
  const timespec pause = absl::ToTimespec(kAskIfNeeded);
  const RealClock clock;
  const absl::Duration begin = clock.Now();
  while (is_needed(clock.Now() - begin)) {
    const int signal = sigtimedwait(&signals, nullptr, &pause);
    if (signal == SIGTERM || signal == SIGINT) {
      CAIRN_LOG_WARNING("told again to end: ending at once");
      return;
    }
    MutexLock lock(&mutex_);
    if (exiting_) return;
  }
}

void Daemon::Impl::Watch(int code) {
  const auto timeout = absl::ToChronoNanoseconds(options_.stop_timeout);
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(&mutex_);
  while (!stopped_) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left.count() <= 0) {
      CAIRN_LOG_ERROR("stopping takes too long; exiting", "after", options_.stop_timeout, "code",
                      code);
      _exit(code);
    }
    changed_.WaitFor(&mutex_, left);
  }
}

int Daemon::Impl::Run(const std::function<void()>& stop, const IsNeeded& is_needed) {
  Started();
  const Ending ending = WaitForEnding();
  CAIRN_LOG_INFO("stopping", "why", ending.reason);
  const bool by_signal = ending.code == kExitTerminated || ending.code == kExitInterrupted;
  if (by_signal && is_needed != nullptr) GoOnWhile(is_needed);
  // Until the daemon is destroyed: the destructors of its parts may wait for a disk that hangs.
  stop_watch_ = std::thread([this, code = ending.code] { Watch(code); });
  stop();
  exit_code_ = ending.code;
  if (ending.code == kExitTerminated || ending.code == kExitInterrupted || ending.code == 0) {
    CAIRN_LOG_INFO("stopped", "why", ending.reason, "code", ending.code);
  } else {
    CAIRN_LOG_ERROR("ended", "why", ending.reason, "code", ending.code);
  }
  return ending.code;
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const DaemonOptions& options) {
  CAIRN_RETURN_IF_ERROR(CheckAddressSpace());
  KeepMemory();
  // Debian builds absl with a search for deadlocks at each lock, of which gRPC has many.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // A write beyond the file size limit fails like one to a full disk.
  const sigset_t signals = WaitedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  LogOptions log;
  log.level = options.log_level;
  log.program = options.program;
  CAIRN_RETURN_IF_ERROR(InitLogging(log));
  // Before the log file, whose disk may hang.
  auto impl = std::make_unique<Impl>(options);
  if (!options.log_file.empty()) {
    log.file = options.log_file;
    CAIRN_RETURN_IF_ERROR(LogToFile(log));
  }
  CAIRN_LOG_INFO("starting", "version", kVersion, "pid", getpid());
  RaiseDescriptorLimit();
  return std::unique_ptr<Daemon>(new Daemon(std::move(impl)));
}

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Daemon::~Daemon() = default;
void Daemon::Exit(int code, const std::string& reason) { impl_->Exit(code, reason); }
int Daemon::Run(const std::function<void()>& stop, const IsNeeded& is_needed) {
  return impl_->Run(stop, is_needed);
}

void ExitToRestart(const std::string& why) {
  CAIRN_LOG_ERROR("ends, to be started again", "why", why);
  FlushLog(kLogMayTake);
  _exit(kExitRestart);
}

void WarnOfOpenPort(const Address& own) {
  if (IsLoopback(own)) return;
  CAIRN_LOG_WARNING(
      "Cairn does not authenticate its clients: anyone who can reach this port can use the "
      "cluster and read its data; use a trusted network (README.md, On several machines)",
      "address", own.ToString());
}

int ReportFailure(const std::string& program, const absl::Status& status) {
  WriteToStandardError(absl::StrCat(program, ": ", Printable(std::string(status.message())), "\n"));
  // Internal: a disk or a device has failed, perhaps only for a moment.
  const bool transient = absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
                         absl::IsAlreadyExists(status) || absl::IsInternal(status);
  const int code = transient ? kExitRestart : kExitPermanent;
  if (!FlushLog(kLogMayTake)) _exit(code);
  return code;
}

absl::StatusOr<TfConfig> LoadTfConfig(const std::string& file, const std::string& environment) {
  if (file.empty() && environment.empty()) {
    return absl::NotFoundError(
        "no cluster is known: set TF_CONFIG, or give --tf_config FILE (workers: --coordinator "
        "HOST:PORT)");
  }
  if (file.empty()) return ParseTfConfig(environment);
  CAIRN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  absl::StatusOr<TfConfig> config = ParseTfConfig(text);
  if (config.ok()) return config;
  return absl::Status(config.status().code(), absl::StrCat(file, ": ", config.status().message()));
}

absl::Status WrongTask(const TfConfig& config, const std::string& needs) {
  const std::string is =
      config.task.has_value()
          ? absl::StrCat("'s task is ", TaskName(config.task->role, config.task->index))
          : " has no task";
  return absl::InvalidArgumentError(absl::StrCat("TF_CONFIG", is, "; ", needs));
}

}  // namespace cairn::cluster
