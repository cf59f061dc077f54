#include "cli/local/local_cluster.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/local/daemon_task.h"
#include "cli/local/log_files.h"
#include "cli/local/ports.h"
#include "cli/local/state_lock.h"
#include "cluster/programs.h"
#include "common/file_operation.h"
#include "common/mutex.h"
#include "common/plural.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPollInterval(25);
// With the copies, at most twice these bytes for each task, and what it writes in this time.
constexpr uint64_t kLogBytesMax = uint64_t{64} << 20;
constexpr std::chrono::seconds kLogInterval(60);
// The state directory has not answered for so long that it is worth a line.
constexpr std::chrono::seconds kSilence(5);

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& environment,
                                         const std::string& tf_config) {
  std::vector<std::string> result;
  for (const std::string& variable : environment) {
    if (!absl::StartsWith(variable, "TF_CONFIG=")) result.push_back(variable);
  }
  result.push_back("TF_CONFIG=" + tf_config);
  return result;
}

// Waits for the daemons of a `cairn run` that was killed. The kernel kills them too, but they may
// still be there when this process starts, and hold their locks and ports.
void WaitForPredecessors(const ClusterFile& last) {
  const auto end = SteadyClock::now() + std::chrono::seconds(5);
  for (const auto& [task, pid] : last.pids) {
    const std::string folder = absl::StrCat("/proc/", pid);
    std::error_code error;
    const auto program = std::filesystem::read_symlink(folder + "/exe", error).filename().string();
    if (error || (program != "coordinator" && program != "ps_server" && program != "worker")) {
      continue;  // Ended, or the pid is another program's.
    }
    while (std::filesystem::exists(folder + "/exe", error) && SteadyClock::now() < end) {
      std::this_thread::sleep_for(kPollInterval);
    }
  }
}

// Chooses the addresses of all tasks: those of the last run, as far as they are free.
absl::StatusOr<ClusterFile> ChooseCluster(const LocalClusterOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(const auto last, ReadClusterFile(options.state));
  std::vector<std::string> wanted;
  if (last) {
    WaitForPredecessors(*last);
    wanted.push_back(last->coordinator);
    wanted.insert(wanted.end(), last->ps.begin(), last->ps.end());
    wanted.insert(wanted.end(), last->workers.begin(), last->workers.end());
    wanted.insert(wanted.end(), last->evaluators.begin(), last->evaluators.end());
  }
  CAIRN_ASSIGN_OR_RETURN(
      const auto addresses,
      ChooseAddresses(wanted, 1 + options.ps + options.workers + options.evaluators));
  ClusterFile cluster;
  cluster.coordinator = addresses[0];
  const auto workers = addresses.begin() + 1 + options.ps;
  cluster.ps.assign(addresses.begin() + 1, workers);
  cluster.workers.assign(workers, workers + options.workers);
  cluster.evaluators.assign(workers + options.workers, addresses.end());
  cluster.cairn_pid = getpid();
  return cluster;
}

absl::StatusOr<std::vector<DaemonTask>> MakeTasks(const LocalClusterOptions& options,
                                                  const ClusterFile& cluster) {
  std::vector<DaemonTask> tasks;
  const auto add = [&](const std::string& program, const std::string& type, int index,
                       const std::string& name,
                       const std::vector<std::string>& flags = {}) -> absl::Status {
    CAIRN_ASSIGN_OR_RETURN(const std::string path,
                           cluster::FindProgram(options.programs_folder, program));
    cluster::ChildOptions child;
    child.command = {path, "--state", options.state};
    child.command.insert(child.command.end(), flags.begin(), flags.end());
    if (options.more_flags) {
      CAIRN_ASSIGN_OR_RETURN(const auto more, options.more_flags(name, cluster));
      child.command.insert(child.command.end(), more.begin(), more.end());
    }
    child.environment = EnvironmentWith(options.environment, cluster.TfConfig(type, index));
    child.output_file = absl::StrCat(options.state, "/logs/", name, ".log");
    tasks.emplace_back(name, std::move(child));
    return absl::OkStatus();
  };
  // The coordinator takes no checkpoint at SIGTERM, because the process that stops this cluster has
  // asked for one before (CheckpointBeforeStop).
  CAIRN_RETURN_IF_ERROR(add("coordinator", "chief", 0, "coordinator", {"--stop_seconds", "0"}));
  for (int i = 0; i < options.ps; ++i) {
    CAIRN_RETURN_IF_ERROR(add("ps_server", "ps", i, absl::StrCat("ps-", i)));
  }
  std::vector<std::string> flags;
  if (!options.device.empty()) flags = {"--device", options.device};
  for (int i = 0; i < options.workers; ++i) {
    CAIRN_RETURN_IF_ERROR(add("worker", "worker", i, absl::StrCat("worker-", i), flags));
  }
  for (int i = 0; i < options.evaluators; ++i) {
    CAIRN_RETURN_IF_ERROR(add("worker", "evaluator", i, absl::StrCat("evaluator-", i), flags));
  }
  return tasks;
}

}  // namespace

// Owns the tasks. Starts them on its own thread, because children die with the thread that started
// them.
class LocalCluster::Supervisor {
 public:
  Supervisor(LocalClusterOptions options, ClusterFile cluster, std::vector<DaemonTask> tasks)
      : options_(std::move(options)),
        lock_file_(options_.state),
        cluster_(std::move(cluster)),
        tasks_(std::move(tasks)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~Supervisor() { Stop(absl::Seconds(5)); }

  const std::string& coordinator_address() const { return cluster_.coordinator; }

  absl::Status failure() const {
    MutexLock lock(&mutex_);
    return failure_;
  }

  // Returns when all tasks have started, or one of them failed to start.
  absl::Status WaitUntilStarted() {
    MutexLock lock(&mutex_);
    while (!started_) changed_.Wait(&mutex_);
    return failure_;
  }

  // The supervisor's thread makes the calls, since only it knows which tasks run.
  bool Disturb(const std::vector<std::string>& tasks,
               const std::function<void(int64_t pid)>& disturb) {
    MutexLock lock(&mutex_);
    disturbance_ = Disturbance{tasks, disturb, std::nullopt};
    changed_.NotifyAll();
    while (disturbance_ && !disturbance_->all_ran && !stop_grace_) changed_.Wait(&mutex_);
    const bool all_ran = disturbance_ && disturbance_->all_ran.value_or(false);
    disturbance_.reset();
    return all_ran;
  }

  void Stop(absl::Duration grace) {
    {
      MutexLock lock(&mutex_);
      if (!stop_grace_) stop_grace_ = grace;
      changed_.NotifyAll();
    }
    MutexLock lock(&join_mutex_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Disturbance {
    std::vector<std::string> tasks;
    std::function<void(int64_t pid)> disturb;
    std::optional<bool> all_ran;  // The result, once all were called.
  };

  void Run() {
    StartTasks();
    {
      MutexLock lock(&mutex_);
      started_ = true;
      changed_.NotifyAll();
    }
    absl::Duration grace;
    while (!WaitForStop(&grace)) {
      MakeDisturbance();
      Watch();
    }
    StopTasks(grace);
  }

  void StartTasks() {
    for (DaemonTask& task : tasks_) {
      const absl::Status started = task.Start();
      // The others would wait as long for the same disk.
      if (!started.ok()) return Fail(started);
    }
    Fail(RecordPids(kStateMayTake));
  }

  void MakeDisturbance() {
    MutexLock lock(&mutex_);
    if (!disturbance_ || disturbance_->all_ran) return;
    size_t reached = 0;
    for (DaemonTask& task : tasks_) {
      if (!absl::c_linear_search(disturbance_->tasks, task.name())) continue;
      if (task.pid() == 0) continue;
      disturbance_->disturb(task.pid());
      ++reached;
    }
    disturbance_->all_ran = reached == disturbance_->tasks.size();
    changed_.NotifyAll();
  }

  // Waits one poll interval; true when it is time to stop.
  bool WaitForStop(absl::Duration* grace) {
    MutexLock lock(&mutex_);
    const bool is_disturbed = disturbance_ && !disturbance_->all_ran;
    if (!stop_grace_ && !is_disturbed) changed_.WaitFor(&mutex_, kPollInterval);
    if (stop_grace_) *grace = *stop_grace_;
    return stop_grace_.has_value();
  }

  void Watch() {
    WatchState();
    RotateLogs();
    bool changed = false;
    for (DaemonTask& task : tasks_) {
      const auto event = task.Watch(SteadyClock::now());
      changed |= event.started_again;
      if (!event.note.empty()) Say(event.note);
      Fail(event.failure);
    }
    if (!changed) return;
    // Not a failure of the cluster: only the next run uses the pids, and a full disk may have room
    // later.
    const absl::Status recorded = RecordPids(kStateMayTakeBriefly);
    if (!recorded.ok()) Say(std::string(recorded.message()));
  }

  // Looks whether the lock file is there, on another thread.
  void WatchState() {
    if (look_ == nullptr) {
      const auto started = lock_file_.StartLooking();
      if (!started.ok()) return;
      look_ = *started;
      look_began_ = SteadyClock::now();
    }
    const std::optional<absl::Status> result = look_->Wait(absl::ZeroDuration());
    if (!result.has_value()) {
      if (is_silence_said_ || SteadyClock::now() - look_began_ < kSilence) return;
      is_silence_said_ = true;
      return Say(absl::StrCat(look_->NoAnswer().message(),
                              "; daemons that need it wait, or end and are started again"));
    }
    look_ = nullptr;
    if (std::exchange(is_silence_said_, false)) {
      Say(absl::StrCat("the state directory ", options_.state, " answers again"));
    }
    if (!absl::IsNotFound(*result)) return;
    Fail(absl::FailedPreconditionError(absl::StrCat(
        "the state directory ", options_.state,
        " was removed or replaced while its cluster was running; stopping the cluster")));
  }

  void Say(const std::string& line) const {
    if (options_.on_event) options_.on_event(line);
  }

  void RotateLogs() {
    if (SteadyClock::now() < logs_due_) return;
    logs_due_ = SteadyClock::now() + kLogInterval;
    std::vector<std::string> files = {LogFile(options_.state, "cairn")};
    for (const DaemonTask& task : tasks_) files.push_back(LogFile(options_.state, task.name()));
    const auto rotate = [files] {
      for (const std::string& file : files) RotateLog(file, kLogBytesMax);
      return absl::OkStatus();
    };
    // Copies take their time. If the last ones have not ended, these logs have a later turn.
    FileOperation::Start(options_.state + "/logs", rotate).status().IgnoreError();
  }

  void StopTasks(absl::Duration grace) {
    for (DaemonTask& task : tasks_) task.Signal(SIGTERM);
    const auto end = SteadyClock::now() + absl::ToChronoNanoseconds(grace);
    for (DaemonTask& task : tasks_) {
      while (task.IsRunning() && SteadyClock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    tasks_.clear();  // Kills those that still run.
    cluster_.pids.clear();
    // Does not create a removed directory again, nor overwrite the file of another cluster.
    if (lock_file_.IsThere(kStateMayTakeBriefly)) {
      WriteClusterFile(options_.state, cluster_, kStateMayTakeBriefly).IgnoreError();
    }
  }

  absl::Status RecordPids(absl::Duration limit) {
    cluster_.pids.clear();
    for (const DaemonTask& task : tasks_) {
      // One that has ended and waits for its start has none.
      if (task.pid() != 0) cluster_.pids[task.name()] = task.pid();
    }
    return WriteClusterFile(options_.state, cluster_, limit);
  }

  // Keeps the first failure.
  void Fail(const absl::Status& status) {
    if (status.ok()) return;
    {
      MutexLock lock(&mutex_);
      if (!failure_.ok()) return;
      failure_ = status;
    }
    if (options_.on_failure) options_.on_failure();
  }

  const LocalClusterOptions options_;
  const LockFileMark lock_file_;
  // Only the thread uses these, except for the coordinator's address, which never changes.
  ClusterFile cluster_;
  std::vector<DaemonTask> tasks_;
  SteadyClock::time_point logs_due_;
  std::shared_ptr<FileOperation> look_;  // Unfinished.
  SteadyClock::time_point look_began_;
  bool is_silence_said_ = false;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> stop_grace_ ABSL_GUARDED_BY(mutex_);
  std::optional<Disturbance> disturbance_ ABSL_GUARDED_BY(mutex_);

  Mutex join_mutex_;
  std::thread thread_ ABSL_GUARDED_BY(join_mutex_);
};

LocalCluster::LocalCluster(std::unique_ptr<Supervisor> supervisor)
    : supervisor_(std::move(supervisor)) {}
LocalCluster::~LocalCluster() = default;

absl::StatusOr<std::unique_ptr<LocalCluster>> LocalCluster::Start(LocalClusterOptions options) {
  CAIRN_RETURN_IF_ERROR(MakeLogFolder(options.state));
  CAIRN_ASSIGN_OR_RETURN(ClusterFile cluster, ChooseCluster(options));
  CAIRN_ASSIGN_OR_RETURN(auto tasks, MakeTasks(options, cluster));
  auto supervisor =
      std::make_unique<Supervisor>(std::move(options), std::move(cluster), std::move(tasks));
  CAIRN_RETURN_IF_ERROR(supervisor->WaitUntilStarted());
  return std::unique_ptr<LocalCluster>(new LocalCluster(std::move(supervisor)));
}

const std::string& LocalCluster::coordinator_address() const {
  return supervisor_->coordinator_address();
}

absl::Status LocalCluster::failure() const { return supervisor_->failure(); }

bool LocalCluster::Disturb(const std::vector<std::string>& tasks,
                           const std::function<void(int64_t pid)>& disturb) {
  return supervisor_->Disturb(tasks, disturb);
}

void LocalCluster::Stop(absl::Duration grace) { supervisor_->Stop(grace); }

std::string TasksText(int ps, int workers, int evaluators) {
  return absl::StrCat("1 coordinator, ", ps > 0 ? absl::StrCat(ps, " ps, ") : "",
                      Plural(workers, "worker"),
                      evaluators > 0 ? ", " + Plural(evaluators, "evaluator") : "");
}

absl::StatusOr<AskedTasks> ChooseTasks(const std::string& state, AskedTasks asked) {
  constexpr int kDefaultCount = 2;
  CAIRN_ASSIGN_OR_RETURN(const auto last, ReadClusterFile(state));
  if (asked.ps < 0) asked.ps = last ? static_cast<int>(last->ps.size()) : kDefaultCount;
  if (asked.workers > 0) return asked;
  const bool holders_stay = last && last->ps.empty() && asked.ps == 0;
  asked.workers = holders_stay ? static_cast<int>(last->workers.size()) : kDefaultCount;
  return asked;
}

}  // namespace cairn::cli
