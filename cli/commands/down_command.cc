#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/flag_set.h"
#include "cli/find_cluster.h"
#include "cli/local/cluster_service.h"
#include "cli/local/log_files.h"
#include "cli/local/state_lock.h"
#include "cli/view/shell_word.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

constexpr std::chrono::milliseconds kPollInterval(50);
// A service has hung if it takes longer than all of its own limits together.
const absl::Duration kPatience = kStopCheckpointTimeout + kStopGrace + absl::Seconds(10);
constexpr absl::Duration kKillPatience = absl::Seconds(10);

struct DownFlags {
  std::string state;
  bool now = false;
  bool json = false;
};

// Prints what the service logs while it stops. False: it still runs after `patience`.
bool WaitForEnd(const std::string& state, int64_t pid, absl::Duration patience, LogTail* log,
                std::ostream* out) {
  const RealClock clock;
  const absl::Duration end = clock.Now() + patience;
  while (true) {
    const auto holder = HolderOfState(state);
    const bool is_over = holder.ok() && (!holder->has_value() || (*holder)->pid != pid);
    for (const std::string& line : log->NewLines()) {
      if (out != nullptr) *out << line << std::endl;
    }
    if (is_over || clock.Now() > end) return is_over;
    std::this_thread::sleep_for(kPollInterval);
  }
}

// The name of the user who owns the process, or the number of the user.
std::string OwnerOf(int64_t pid) {
  struct stat process {};
  if (stat(absl::StrCat("/proc/", pid).c_str(), &process) != 0) return "already ended";
  const passwd* const user = getpwuid(process.st_uid);
  return user == nullptr ? absl::StrCat("number ", process.st_uid) : user->pw_name;
}

// True if the process is a `cairn`. The pid in the lock file may be that of an earlier holder, and
// may belong to another program by now, which must not be killed. PermissionDenied: the process
// belongs to another user.
absl::StatusOr<bool> IsCairn(int64_t pid) {
  std::error_code error;
  const auto program =
      std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/exe"), error).filename().string();
  if (error == std::errc::permission_denied) {
    return absl::PermissionDeniedError(absl::StrCat("process ", pid, " belongs to another user (",
                                                    OwnerOf(pid), "): ask this user, or use sudo"));
  }
  return !error && absl::StartsWith(program, "cairn");
}

absl::Status End(const std::string& state, const StateHolder& holder, const DownFlags& flags,
                 bool* was_killed, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const bool is_cairn, IsCairn(holder.pid));
  if (!is_cairn) {
    return absl::UnavailableError(absl::StrCat("the cluster on ", state,
                                               " is being started or stopped by another process; "
                                               "try again"));
  }
  LogTail log(LogFile(state, "cairn"));
  log.SkipToEnd();
  std::ostream* out = flags.json ? nullptr : context.out;
  const auto pid = static_cast<pid_t>(holder.pid);
  if (!flags.now) {
    if (kill(pid, SIGTERM) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot stop process ", pid));
    }
    if (WaitForEnd(state, holder.pid, kPatience, &log, out)) return absl::OkStatus();
    *context.err << "cairn: process " << pid << " does not end; killing it\n";
  }
  *was_killed = true;
  // The kernel kills the daemons with it.
  kill(pid, SIGKILL);
  if (WaitForEnd(state, holder.pid, kKillPatience, &log, out)) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("process ", pid, " does not end after SIGKILL; it may be waiting for a disk"));
}

absl::StatusOr<int> Down(const DownFlags& flags, const CommandContext& context) {
  ClusterChoice choice;
  choice.state = flags.state;
  choice.user_folder = context.user_folder;
  CAIRN_ASSIGN_OR_RETURN(const std::string state, FindState(choice));
  std::error_code hidden;
  if (!std::filesystem::exists(state, hidden) && hidden != std::errc::permission_denied) {
    return absl::NotFoundError(absl::StrCat("there is no state directory ", state,
                                            "; give the one of cairn up with --state DIR"));
  }
  if (!hidden && !std::filesystem::is_directory(state, hidden)) {
    return absl::InvalidArgumentError(
        absl::StrCat(state, " is not a directory; give the one of cairn up with --state DIR"));
  }
  CAIRN_ASSIGN_OR_RETURN(const auto holder, HolderOfState(state));
  bool was_killed = false;
  if (holder) CAIRN_RETURN_IF_ERROR(End(state, *holder, flags, &was_killed, context));
  if (flags.json) {
    *context.out << nlohmann::ordered_json{{"state", state},
                                           {"was_up", holder.has_value()},
                                           {"was_killed", was_killed}}
                        .dump()
                 << "\n";
  } else if (!holder) {
    *context.out << "no cluster is running on " << state << "\n";
  } else {
    *context.out << holder->command << (was_killed ? " was killed" : " has ended") << "; " << state
                 << " has everything to continue: cairn up --state " << ShellWord(state) << "\n";
  }
  return kExitDone;
}

}  // namespace

Command MakeDownCommand() {
  auto flags = std::make_shared<DownFlags>();
  Command command;
  command.name = "down";
  command.description = "Take a checkpoint of the running job and stop the cluster of cairn up";
  command.details =
      "A daemon that does not respond is killed: 30 s are allowed for the checkpoint, 10 s for "
      "the end. The next cairn up continues the job from its newest checkpoint, or from its "
      "beginning if there is none.";
  command.examples = {"cairn down", "cairn down --state my-cluster", "cairn down --now"};
  command.add_flags = [flags](FlagSet* set) {
    set->AddString(
        "--state DIR", &flags->state,
        "State directory of the cluster [./cairn-state, or the one of the last cairn up]");
    set->AddBool("--now", &flags->now, "Kill all daemons at once, without a checkpoint");
    set->AddBool("--json", &flags->json, "Print JSON, one object per line");
  };
  command.run = [flags](const CommandContext& context) { return Down(*flags, context); };
  return command;
}

}  // namespace cairn::cli
