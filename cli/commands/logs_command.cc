#include <algorithm>
#include <map>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/local/log_files.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

constexpr std::chrono::milliseconds kPollInterval(200);
constexpr int kLinesMax = 1000000;

struct LogsFlags : CommonFlags {
  std::string task;
  int lines = 20;
  bool follow = false;
};

// Prints the lines of a single task unchanged, and those of several tasks sorted by time with the
// names of the tasks.
void Print(const LogsFlags& flags, std::vector<LogLine> lines, const CommandContext& context) {
  SortByTime(&lines);
  for (const auto& [task, text] : lines) {
    if (flags.json) {
      const nlohmann::ordered_json object = {{"task", task}, {"line", text}};
      *context.out << object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    } else if (flags.task.empty()) {
      *context.out << task << " | " << text << "\n";
    } else {
      *context.out << text << "\n";
    }
  }
  context.out->flush();
}

// The lines of the chosen tasks: the last ones at the first call, then the new ones.
std::vector<LogLine> ReadLines(const LogsFlags& flags, const std::string& state,
                               std::map<std::string, LogTail>* tails) {
  const bool is_first = tails->empty();
  std::vector<LogLine> lines;
  for (const std::string& task : LoggedTasks(state).value_or(std::vector<std::string>())) {
    if (!flags.task.empty() && flags.task != task) continue;
    LogTail& tail = tails->try_emplace(task, LogFile(state, task)).first->second;
    for (std::string& text :
         is_first ? tail.LastLines(static_cast<size_t>(flags.lines)) : tail.NewLines()) {
      lines.push_back({task, std::move(text)});
    }
  }
  return lines;
}

absl::Status CheckTask(const LogsFlags& flags, const std::string& state) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> tasks, LoggedTasks(state));
  if (tasks.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "there are no logs in ", state,
        "/logs; give the state directory of cairn run or cairn up with --state DIR. Daemons that "
        "were "
        "started by hand log to their standard error, or where their --log_file says"));
  }
  const bool is_there = std::find(tasks.begin(), tasks.end(), flags.task) != tasks.end();
  if (flags.task.empty() || is_there) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("there is no log of a task ", ShellWord(flags.task),
                                          "; there are ", absl::StrJoin(tasks, ", "),
                                          DidYouMean(flags.task, tasks)));
}

absl::StatusOr<int> PrintLogs(const LogsFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const std::string state, FindState(flags.Choice(context)));
  CAIRN_RETURN_IF_ERROR(CheckTask(flags, state));
  std::map<std::string, LogTail> tails;
  Print(flags, ReadLines(flags, state, &tails), context);
  // Until a signal ends the process, or the reader closes the pipe.
  while (flags.follow && context.out->good()) {
    std::this_thread::sleep_for(kPollInterval);
    Print(flags, ReadLines(flags, state, &tails), context);
  }
  return kExitDone;
}

}  // namespace

Command MakeLogsCommand() {
  auto flags = std::make_shared<LogsFlags>();
  Command command;
  command.name = "logs";
  command.description = "Print the logs of the daemons of a local cluster";
  command.details =
      "TASK is coordinator, ps-0, worker-1 and so on, or cairn, which is the process that "
      "restarts daemons after cairn up. Without TASK the lines of all logs are merged by time, "
      "and each starts with its task. Ctrl-C ends --follow.";
  command.examples = {"cairn logs", "cairn logs worker-0 --lines 100",
                      "cairn logs coordinator --follow --state my-run"};
  command.add_flags = [flags](FlagSet* set) {
    set->AddArgument("TASK", &flags->task, /*is_required=*/false, "The task [all]");
    set->AddCount("--lines", &flags->lines, kLinesMax,
                  "Number of lines from the end of each log [20]");
    set->AddBool("--follow", &flags->follow, "Print new lines as they are written");
    flags->AddJson(set);
    set->AddString(
        "--state DIR", &flags->state,
        "State directory of the cluster [./cairn-state, or the one of the last cairn up]");
  };
  command.run = [flags](const CommandContext& context) { return PrintLogs(*flags, context); };
  return command;
}

}  // namespace cairn::cli
