#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/interrupts.h"
#include "cli/progress_text.h"
#include "cli/status_json.h"
#include "cli/view/cluster_text.h"
#include "cli/view/terminal.h"
#include "common/plural.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr char kCtrlC = '\3';
// The exit code of a process that SIGINT ended. On this terminal Ctrl-C is a key.
constexpr int kExitInterrupted = 128 + SIGINT;
constexpr absl::Duration kPatience = absl::Milliseconds(100);
constexpr int kIntervalMax = 3600;
constexpr int kTimesMax = 1000000000;
constexpr int kNotesShown = 5;
constexpr int kIndent = 2;  // Of the lines below the title of a job.

struct TopFlags : CommonFlags {
  int interval = 1;  // Seconds.
  int times = 0;     // 0: no limit.
};

// The state of the cluster and its jobs at one moment.
struct View {
  proto::ClusterStatus cluster;
  std::vector<proto::JobStatus> jobs;  // Those that have not ended, or the last one.
};

// Fails at once if the address is wrong, before the screen is drawn.
absl::StatusOr<std::unique_ptr<CoordinatorApi>> FindReachable(const TopFlags& flags,
                                                              const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(auto api, FindCoordinator(flags.Choice(context)));
  CAIRN_RETURN_IF_ERROR(api->GetCluster().status());
  return api;
}

absl::StatusOr<View> Look(CoordinatorApi* api) {
  View view;
  CAIRN_ASSIGN_OR_RETURN(view.cluster, api->GetCluster());
  CAIRN_ASSIGN_OR_RETURN(const auto reply, api->ListJobs());
  for (int i = 0; i < reply.jobs_size(); ++i) {
    const bool is_last = i + 1 == reply.jobs_size();
    if (!HasEnded(reply.jobs(i).state()) || (is_last && view.jobs.empty())) {
      view.jobs.push_back(reply.jobs(i));
    }
  }
  return view;
}

void AppendJob(const proto::JobStatus& job, int width, std::vector<std::string>* lines) {
  std::string title = absl::StrCat("job ", job.job_id(), " (", job.name(), "): ", StateText(job));
  if (!job.error().empty()) absl::StrAppend(&title, ": ", job.error());
  lines->push_back(title);
  if (!HasEnded(job.state())) lines->push_back("  " + ProgressLine(job, width));
  if (!job.evaluations().empty()) {
    const auto& evaluation = *job.evaluations().rbegin();
    lines->push_back(absl::StrCat("  epoch ", evaluation.epoch() + 1,
                                  " validated: ", EvaluationText(evaluation, job.metric_names())));
  }
  lines->push_back(absl::StrCat("  ", Plural(job.rollbacks(), "rollback"), ", ",
                                Plural(job.workers_lost(), "worker"),
                                " lost, checkpoints: ", CheckpointsText(job)));
  for (int i = std::max(0, job.notes_size() - kNotesShown); i < job.notes_size(); ++i) {
    lines->push_back("  " + NoteText(job.notes(i), absl::ToUnixSeconds(absl::Now())));
  }
}

// The lines of the screen, for a terminal of `width` columns. 0: no limit.
std::vector<std::string> LinesOf(const absl::StatusOr<View>& view, const std::string& address,
                                 int width) {
  if (!view.ok()) return {std::string(view.status().message())};
  std::vector<std::string> lines =
      absl::StrSplit(ClusterText(view->cluster, address, width), '\n', absl::SkipEmpty());
  lines.emplace_back();
  if (view->jobs.empty()) lines.push_back("no jobs yet; cairn submit JOB.json submits one");
  for (const proto::JobStatus& job : view->jobs) {
    AppendJob(job, width == 0 ? 0 : std::max(1, width - kIndent), &lines);
  }
  return lines;
}

// Waits in short steps: a signal arrives on another thread and does not end the terminal's wait.
std::optional<char> WaitForKey(Terminal* terminal, absl::Duration timeout,
                               const std::atomic<bool>& is_over) {
  for (absl::Duration left = timeout; left > absl::ZeroDuration() && !is_over; left -= kPatience) {
    if (const auto key = terminal->WaitForKey(std::min(left, kPatience))) return key;
  }
  return std::nullopt;
}

absl::StatusOr<int> ShowLive(const TopFlags& flags, const CommandContext& context) {
  std::atomic<bool> is_over = false;
  const Interrupts interrupts([&is_over] { is_over = true; });  // Before all other threads.
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindReachable(flags, context));
  Terminal terminal(STDIN_FILENO, STDOUT_FILENO);
  for (int i = 0; (flags.times == 0 || i < flags.times) && !is_over; ++i) {
    const TerminalSize size = SizeOfTerminal(STDOUT_FILENO);
    // One column less: a line that wraps cannot be rewritten.
    auto lines = LinesOf(Look(api.get()), api->address(), std::max(1, size.columns - 1));
    lines.insert(lines.begin(), "q or Ctrl-C ends this command; the cluster continues");
    terminal.Show(lines);
    const std::optional<char> key = WaitForKey(&terminal, absl::Seconds(flags.interval), is_over);
    if (key == 'q') break;
    if (key == kCtrlC) return kExitInterrupted;
  }
  return interrupts.exit_code();
}

void PrintJson(const View& view, std::ostream* out) {
  nlohmann::ordered_json members = nlohmann::ordered_json::array();
  for (const proto::Member& member : MembersOf(view.cluster)) {
    members.push_back(MemberJson(member, view.cluster.term()));
  }
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const proto::JobStatus& job : view.jobs) jobs.push_back(StatusJson(job));
  *out << nlohmann::ordered_json{{"members", members}, {"jobs", jobs}}.dump() << "\n";
}

absl::StatusOr<int> ShowPlain(const TopFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindReachable(flags, context));
  for (int i = 0; flags.times == 0 || i < flags.times; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::seconds(flags.interval));
    const absl::StatusOr<View> view = Look(api.get());
    if (!view.ok() && flags.times > 0) return view.status();
    if (flags.json && view.ok()) {
      PrintJson(*view, context.out);
    } else if (!flags.json) {
      *context.out << absl::StrJoin(LinesOf(view, api->address(), 0), "\n") << "\n\n";
    }
    context.out->flush();
    if (!context.out->good()) break;
  }
  return kExitDone;
}

absl::StatusOr<int> Top(const TopFlags& flags, const CommandContext& context) {
  const bool is_live = context.is_terminal && isatty(STDIN_FILENO) != 0 && !flags.json;
  return is_live ? ShowLive(flags, context) : ShowPlain(flags, context);
}

}  // namespace

Command MakeTopCommand() {
  auto flags = std::make_shared<TopFlags>();
  Command command;
  command.name = "top";
  command.description = "Show a cluster and its jobs continuously; q or Ctrl-C ends it";
  command.details =
      "On a terminal, one screen is updated. Elsewhere, and with --json, the state is printed "
      "--times times. On a narrow terminal the least important columns, such as HOST and PID, are "
      "left out; cairn cluster prints all of them.";
  command.examples = {"cairn top", "cairn top --times 1 > now.txt",
                      "cairn top --coordinator 10.0.0.1:4000 --interval 5"};
  command.add_flags = [flags](FlagSet* set) {
    set->AddCount("--interval SECONDS", &flags->interval, kIntervalMax,
                  "Time between two updates [1]");
    set->AddCount("--times", &flags->times, kTimesMax, "Number of updates [no limit]");
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return Top(*flags, context); };
  return command;
}

}  // namespace cairn::cli
