#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "absl/strings/str_format.h"
#include "cli/commands/command.h"
#include "cli/commands/flag_set.h"
#include "cli/files.h"
#include "cli/find_cluster.h"
#include "cli/machine/disk.h"
#include "cli/machine/loopback.h"
#include "cli/machine/resources.h"
#include "cli/machine/software.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

// The tasks of a cluster with 2 ps and 2 workers.
constexpr int kTasks = 5;

struct DoctorFlags {
  std::string state = kDefaultState;
  bool json = false;
};

// The contents of a file in /proc, or "" if it cannot be read.
std::string ReadProc(const std::string& file) {
  const auto text = ReadFile(file);
  return text.ok() ? *text : "";
}

std::vector<Check> CheckAll(const DoctorFlags& flags, const CommandContext& context) {
  std::vector<Check> checks = CheckPrograms(context.programs_folder, context.environment);
  checks.push_back(CheckLibraries());
  checks.push_back(
      CheckProcessor(ReadProc("/proc/cpuinfo"), std::max(1u, std::thread::hardware_concurrency())));
  checks.push_back(CheckMemory(ReadProc("/proc/meminfo")));
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  checks.push_back(CheckDescriptors(descriptors.rlim_cur));
  for (Check& check : CheckDisk(flags.state)) checks.push_back(std::move(check));
  checks.push_back(CheckLoopback(kTasks));
  checks.push_back(CheckGpu());
  return checks;
}

const char* LevelName(Check::Level level) {
  if (level == Check::Level::kOk) return "ok";
  return level == Check::Level::kWarn ? "warn" : "fail";
}

std::string Colored(Check::Level level, const CommandContext& context) {
  constexpr char kGreen[] = "\x1b[32m";
  constexpr char kYellow[] = "\x1b[33m";
  constexpr char kRed[] = "\x1b[31m";
  const std::string name = absl::StrFormat("%-4s", LevelName(level));
  if (!context.color) return name;
  const char* color = level == Check::Level::kOk     ? kGreen
                      : level == Check::Level::kWarn ? kYellow
                                                     : kRed;
  return color + name + "\x1b[0m";
}

void Print(const Check& check, const DoctorFlags& flags, const CommandContext& context) {
  if (flags.json) {
    *context.out << nlohmann::ordered_json{{"level", LevelName(check.level)},
                                           {"subject", check.subject},
                                           {"found", check.found},
                                           {"fix", check.fix}}
                        .dump()
                 << "\n";
    return;
  }
  *context.out << Colored(check.level, context)
               << absl::StrFormat("  %-12s %s\n", check.subject, check.found);
  if (!check.fix.empty()) *context.out << absl::StrFormat("%18s -> %s\n", "", check.fix);
}

int Examine(const DoctorFlags& flags, const CommandContext& context) {
  bool is_fit = true;
  for (const Check& check : CheckAll(flags, context)) {
    Print(check, flags, context);
    is_fit &= check.level != Check::Level::kFail;
  }
  return is_fit ? kExitDone : kExitJobFailed;
}

}  // namespace

Command MakeDoctorCommand() {
  auto flags = std::make_shared<DoctorFlags>();
  Command command;
  command.name = "doctor";
  command.description =
      "Check whether this machine can run Cairn, and print how to fix what is missing";
  command.details =
      "Each line starts with ok, warn (Cairn runs, but slower or with less) or fail. The fix is "
      "on the next line. The exit code is 1 if a check fails.";
  command.examples = {"cairn doctor", "cairn doctor --state /data/cairn --json"};
  command.add_flags = [flags](FlagSet* set) {
    set->AddString("--state DIR", &flags->state,
                   "The state directory; its disk is measured [cairn-state]");
    set->AddBool("--json", &flags->json, "Print JSON, one object per line");
  };
  command.run = [flags](const CommandContext& context) -> absl::StatusOr<int> {
    return Examine(*flags, context);
  };
  return command;
}

}  // namespace cairn::cli
