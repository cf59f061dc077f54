#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/flag_set.h"
#include "cli/commands/local_run.h"
#include "cli/submission.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr int kTasksMax = 256;

absl::StatusOr<int> Run(const LocalRunOptions& options, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Submission submission, ReadSubmission(options.job_file));
  LocalRun run(options, context);
  return run.Run(submission);
}

}  // namespace

Command MakeRunCommand() {
  auto options = std::make_shared<LocalRunOptions>();
  Command command;
  command.name = "run";
  command.description =
      "Start a cluster on this machine, train a job, and stop it; goes on where it stopped";
  command.details =
      "Ctrl-C takes a checkpoint and stops; the same command goes on. Twice: stops at once. "
      "With --json a line is the job's status (epochs count from 0), with the evaluations since "
      "the line before.";
  command.examples = {"cairn run job.json",
                      "cairn run job.json --ps 2 --workers 4 --state my-run --export trained"};
  command.add_flags = [options](FlagSet* set) {
    set->AddArgument("JOB.json", &options->job_file, /*is_required=*/true, "The job file");
    set->AddCount("--ps", &options->ps, kTasksMax,
                  "How many parameter servers [2, or as many as the state was begun with]");
    set->AddCount("--workers", &options->workers, kTasksMax, "How many workers [2]");
    set->AddString("--state DIR", &options->state,
                   "The directory for journal, checkpoints, history and logs [cairn-state]");
    set->AddString("--export DIR", &options->export_output,
                   "A folder for the trained model, as a TF.js layers model");
    set->AddBool("--json", &options->json, "Print JSON, one object a line");
  };
  command.run = [options](const CommandContext& context) { return Run(*options, context); };
  return command;
}

}  // namespace cairn::cli
