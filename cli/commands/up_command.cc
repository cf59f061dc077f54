#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/commands/command.h"
#include "cli/commands/flag_set.h"
#include "cli/coordinator_api.h"
#include "cli/find_cluster.h"
#include "cli/local/cluster_file.h"
#include "cli/local/cluster_service.h"
#include "cli/local/last_cluster.h"
#include "cli/local/local_cluster.h"
#include "cli/local/log_files.h"
#include "cli/local/state_lock.h"
#include "cli/progress_text.h"
#include "cli/view/shell_word.h"
#include "cluster/child_process.h"
#include "cluster/programs.h"
#include "common/clock.h"
#include "common/log_control.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

constexpr int kTasksMax = 256;
constexpr absl::Duration kStartTimeout = absl::Minutes(1);
constexpr std::chrono::milliseconds kPollInterval(50);

struct UpFlags {
  AskedTasks tasks;
  std::string device;  // Of the workers; empty: not given.
  std::string state = kDefaultState;
  bool foreground = false;
  bool json = false;
};

// ---- in the background, or with --foreground

absl::StatusOr<int> Serve(const UpFlags& flags, const CommandContext& context) {
  LocalClusterOptions options;
  options.state = flags.state;
  options.programs_folder = context.programs_folder;
  CAIRN_ASSIGN_OR_RETURN(const AskedTasks counts, ChooseTasks(flags.state, flags.tasks));
  options.ps = counts.ps;
  options.workers = counts.workers;
  options.evaluators = counts.evaluators;
  options.device = flags.device;
  options.environment = context.environment;
  // In the background its log is on the disk of the state directory, which may hang.
  const auto say = [](const std::string& line) {
    WriteToStandardError(TimeText(absl::ToUnixSeconds(absl::Now())) + " " + line + "\n");
  };
  // Not an error: commands in other directories then need --state.
  const absl::Status remembered = RememberLastCluster(context.user_folder, flags.state);
  if (!remembered.ok()) say(std::string(remembered.message()));
  return ServeCluster(std::move(options), say);
}

// ---- in the terminal

absl::StatusOr<std::unique_ptr<cluster::ChildProcess>> StartInBackground(
    const UpFlags& flags, const CommandContext& context) {
  cluster::ChildOptions options;
  options.command = {context.programs_folder + "/cairn", "up", "--foreground", "--state",
                     flags.state};
  const auto add = [&options](bool is_given, const char* flag, const std::string& value) {
    if (is_given) options.command.insert(options.command.end(), {flag, value});
  };
  add(flags.tasks.ps >= 0, "--ps", absl::StrCat(flags.tasks.ps));
  add(flags.tasks.workers > 0, "--workers", absl::StrCat(flags.tasks.workers));
  add(flags.tasks.evaluators > 0, "--evaluators", absl::StrCat(flags.tasks.evaluators));
  add(!flags.device.empty(), "--device", flags.device);
  options.environment = context.environment;
  options.output_file = LogFile(flags.state, "cairn");
  options.is_detached = true;
  CAIRN_RETURN_IF_ERROR(MakeLogFolder(flags.state));
  return cluster::ChildProcess::Start(options);
}

// True if every ps, worker and evaluator of the cluster has joined its coordinator. Without ps,
// each worker joins as one too.
bool IsComplete(const ClusterFile& file) {
  CoordinatorApi api(file.coordinator, absl::Milliseconds(200));
  const auto cluster = api.GetCluster();
  if (!cluster.ok()) return false;
  const auto live =
      std::count_if(cluster->members().begin(), cluster->members().end(),
                    [](const proto::Member& member) { return member.live() && member.named(); });
  const size_t holders = file.ps.empty() ? file.workers.size() : file.ps.size();
  return live >= static_cast<int64_t>(holders + file.workers.size() + file.evaluators.size());
}

// `last`: the last lines of its log.
absl::Status CouldNotStart(const std::string& state, const std::vector<std::string>& last) {
  if (last.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the cluster could not be started, and could not write why into ", LogFile(state, "cairn"),
        ": is the disk full? See cairn doctor --state ", ShellWord(state)));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the cluster could not be started:\n  ", absl::StrJoin(last, "\n  ")));
}

// `log` begins after the lines of earlier starts.
absl::Status WaitUntilComplete(const UpFlags& flags, cluster::ChildProcess* service, LogTail* log) {
  const RealClock clock;
  const absl::Duration end = clock.Now() + kStartTimeout;
  while (clock.Now() < end) {
    if (service->TryWait()) return CouldNotStart(flags.state, log->NewLines());
    CAIRN_ASSIGN_OR_RETURN(const auto holder, HolderOfState(flags.state));
    if (holder && holder->pid == service->pid()) {
      CAIRN_ASSIGN_OR_RETURN(const auto file, ReadClusterFile(flags.state));
      if (file && file->cairn_pid == holder->pid && IsComplete(*file)) return absl::OkStatus();
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "not all daemons have joined the coordinator within a minute; they keep trying. See why "
      "with cairn logs --state ",
      ShellWord(flags.state), ", or stop them with cairn down --state ", ShellWord(flags.state)));
}

// The worker program with its path, for a command that works in any directory.
std::string WorkerProgram(const CommandContext& context) {
  return cluster::FindProgram(context.programs_folder, "worker").value_or("worker");
}

absl::Status Report(const UpFlags& flags, const ClusterFile& file, bool was_up,
                    const CommandContext& context) {
  if (flags.json) {
    const nlohmann::ordered_json line = {{"state", flags.state},
                                         {"coordinator", file.coordinator},
                                         {"ps", file.ps.size()},
                                         {"workers", file.workers.size()},
                                         {"evaluators", file.evaluators.size()},
                                         {"pid", file.cairn_pid},
                                         {"was_up", was_up}};
    *context.out << line.dump() << "\n";
    return absl::OkStatus();
  }
  const std::string tasks =
      TasksText(static_cast<int>(file.ps.size()), static_cast<int>(file.workers.size()),
                static_cast<int>(file.evaluators.size()));
  ClusterChoice choice;
  choice.tf_config = context.tf_config;
  choice.user_folder = context.user_folder;
  const std::string state = StateFlag(flags.state, choice);
  *context.out << (was_up ? "already running: " : "started ") << tasks << "; state in "
               << flags.state << ", logs in " << flags.state << "/logs\n"
               << "  coordinator    " << file.coordinator << "\n"
               << "  submit a job   cairn submit JOB.json --follow" << state << "\n"
               << "  one worker     " << WorkerProgram(context) << " --coordinator "
               << file.coordinator << "    (any number more, from anywhere on this machine)\n"
               << "  show it        cairn cluster, cairn top, cairn logs"
               << (state.empty() ? "" : ", each with" + state) << "\n"
               << "  end it         cairn down" << state << "\n";
  return absl::OkStatus();
}

absl::StatusOr<int> ReportRunning(const UpFlags& flags, const StateHolder& holder,
                                  const CommandContext& context) {
  if (holder.command != "cairn up") return StateLock::Take(flags.state, "cairn up").status();
  CAIRN_ASSIGN_OR_RETURN(const auto file, ReadClusterFile(flags.state));
  if (!file || file->cairn_pid != holder.pid) {
    return absl::UnavailableError(absl::StrCat("a cluster is being started on ", flags.state,
                                               " (process ", holder.pid, "); try again"));
  }
  const int ps = static_cast<int>(file->ps.size());
  const int workers = static_cast<int>(file->workers.size());
  const int evaluators = static_cast<int>(file->evaluators.size());
  if ((flags.tasks.ps >= 0 && flags.tasks.ps != ps) ||
      (flags.tasks.workers > 0 && flags.tasks.workers != workers) ||
      (flags.tasks.evaluators > 0 && flags.tasks.evaluators != evaluators)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a cluster is running on ", flags.state, " with ", TasksText(ps, workers, evaluators),
        "; stop it first with cairn down --state ", ShellWord(flags.state),
        ", or add workers to it: ", WorkerProgram(context), " --coordinator ", file->coordinator));
  }
  RememberLastCluster(context.user_folder, flags.state).IgnoreError();
  CAIRN_RETURN_IF_ERROR(Report(flags, *file, /*was_up=*/true, context));
  return kExitDone;
}

absl::StatusOr<int> Up(UpFlags flags, const CommandContext& context) {
  flags.state = std::filesystem::absolute(flags.state).lexically_normal().string();
  if (flags.foreground) return Serve(flags, context);
  CAIRN_ASSIGN_OR_RETURN(const auto running, HolderOfState(flags.state));
  if (running) return ReportRunning(flags, *running, context);
  LogTail log(LogFile(flags.state, "cairn"));
  log.SkipToEnd();
  CAIRN_ASSIGN_OR_RETURN(const auto service, StartInBackground(flags, context));
  const absl::Status started = WaitUntilComplete(flags, service.get(), &log);
  CAIRN_ASSIGN_OR_RETURN(const auto holder, HolderOfState(flags.state));
  if (!started.ok() && holder && holder->pid != service->pid()) {
    return ReportRunning(flags, *holder, context);  // Another `cairn up` was faster.
  }
  CAIRN_RETURN_IF_ERROR(started);
  CAIRN_ASSIGN_OR_RETURN(const auto file, ReadClusterFile(flags.state));
  CAIRN_RETURN_IF_ERROR(Report(flags, *file, /*was_up=*/false, context));
  return kExitDone;
}

}  // namespace

Command MakeUpCommand() {
  auto flags = std::make_shared<UpFlags>();
  Command command;
  command.name = "up";
  command.description = "Start a local cluster that runs in the background, for any number of jobs";
  command.details =
      "The cluster runs until cairn down, also after the terminal is closed. A daemon that ends "
      "is started again. Other commands find the cluster from any directory. Unfinished jobs of "
      "the state directory continue.";
  command.examples = {"cairn up", "cairn up --ps 2 --workers 4 --state my-cluster",
                      "cairn up --foreground   # under systemd or in a container"};
  command.add_flags = [flags](FlagSet* set) {
    set->AddCount("--ps", &flags->tasks.ps, 0, kTasksMax,
                  "Number of parameter servers; 0: the workers hold the parameters [2, or the "
                  "number in the state directory]");
    set->AddCount("--workers", &flags->tasks.workers, kTasksMax, "Number of workers [2]");
    set->AddCount("--evaluators", &flags->tasks.evaluators, 0, kTasksMax,
                  "Number of evaluators, which evaluate the epochs while the workers train on [0]");
    set->AddString("--device LIST", &flags->device,
                   "Devices of each worker and evaluator, for example cuda:0,cuda:1 [auto]");
    set->AddString("--state DIR", &flags->state,
                   "Directory of journal, checkpoints, history and logs [cairn-state]");
    set->AddBool("--foreground", &flags->foreground,
                 "Run in the foreground until SIGTERM or Ctrl-C, then take a checkpoint and stop");
    set->AddBool("--json", &flags->json, "Print JSON, one object per line");
    set->Exclude("--foreground", "--json");
  };
  command.run = [flags](const CommandContext& context) { return Up(*flags, context); };
  return command;
}

}  // namespace cairn::cli
