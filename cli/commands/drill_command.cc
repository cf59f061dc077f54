#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/flag_set.h"
#include "cli/drill/drill.h"
#include "cli/drill/drill_plan.h"

namespace cairn::cli {
namespace {

constexpr int kTasksMax = 256;
constexpr int kFaultsMax = 10000;
constexpr double kDurationMax = 7 * 86400;
constexpr double kEveryMax = 3600;
constexpr int kEpochsMax = 1000000000;
constexpr int kThreadsMax = 1024;
constexpr int kStepDelayMax = 60000;

// A line for each plan.
std::string PlansText() {
  std::string text;
  for (const DrillPlan& plan : DrillPlans()) {
    absl::StrAppend(&text, plan.name, ": ", plan.description, " (", plan.faults,
                    plan.is_soak ? " or more faults)\n" : " faults)\n");
  }
  return text;
}

}  // namespace

Command MakeDrillCommand() {
  auto options = std::make_shared<DrillOptions>();
  Command command;
  command.name = "drill";
  command.description = "Train a job on a local cluster under faults, and check the result";
  command.details = absl::StrCat(
      "The plans:\n", PlansText(),
      "\nThe seed alone determines the faults and their order. No plan needs root. A job that ends "
      "before the planned faults is trained again with more epochs.\n\n"
      "The drill passes (exit code 0) if the job finishes with each batch counted once. For a "
      "synchronous job the final values must also have the bits of a run without faults. Otherwise "
      "it is wrong (exit code 1). It is void (exit code 2) if a planned fault did not fire or had "
      "no effect.\n\n"
      "The report is FOLDER/drill.json and FOLDER/drill.html. With --json a line is a fault, and "
      "the "
      "last line is the report.");
  command.examples = {"cairn drill job.json --plan workers",
                      "cairn drill job.json --plan soak --seed 7 --duration 3600 --output my-drill",
                      "cairn drill job.json --plan workers --workers 4 --every 10"};
  command.add_flags = [options](FlagSet* set) {
    set->AddArgument("JOB.json", &options->job_file, /*is_required=*/true, "The job file");
    set->AddRequiredString("--plan PLAN", &options->plan, "The faults, see above");
    set->AddId("--seed", &options->seed, "Determines the faults [1]");
    set->AddCount("--ps", &options->ps, 0, kTasksMax,
                  "How many parameter servers; 0: the workers hold the parameters [0 if the job's "
                  "strategy has none, else 2]");
    set->AddCount("--workers", &options->workers, kTasksMax,
                  "How many workers [1 if the job's strategy is of one, else 3]");
    set->AddCount("--faults", &options->faults, kFaultsMax, "How many faults [the plan's number]");
    set->AddNumber("--duration SECONDS", &options->duration, 1, kDurationMax,
                   "Go on with faults for so long [soak: 600; others: until all faults were made]");
    set->AddNumber("--every SECONDS", &options->every, 1, kEveryMax,
                   "Make a fault each time this has passed [when the last one is made good]");
    set->AddCount("--epochs", &options->epochs, kEpochsMax,
                  "Train so many epochs [the job's, and more if it ends before the faults]");
    set->AddCount("--threads", &options->threads, kThreadsMax,
                  "The threads of each worker [the worker's default]");
    set->AddCount("--step_delay MS", &options->step_delay, kStepDelayMax,
                  "Lengthen each step of a worker by so many milliseconds [0]");
    set->AddString("--output FOLDER", &options->output, "The folder of the report [cairn-drill]");
    set->AddBool("--keep", &options->keep, "Keep the state directories and logs, in FOLDER");
    set->AddBool("--json", &options->json, "Print JSON, one object per line");
  };
  command.run = [options](const CommandContext& context) { return RunDrill(*options, context); };
  return command;
}

}  // namespace cairn::cli
