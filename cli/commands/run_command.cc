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
      "Train a job on a local cluster, which is started for it and stopped at the end";
  command.details =
      "A job that was interrupted continues. Ctrl-C takes a checkpoint and stops; a second Ctrl-C "
      "stops at once. With --json each line is the status of the job, with the evaluations since "
      "the previous line. Epochs count from 0.";
  command.examples = {"cairn run job.json",
                      "cairn run job.json --ps 2 --workers 4 --state my-run --export trained",
                      "cairn run job.json --ps 0 --workers 3   # no parameter servers"};
  command.add_flags = [options](FlagSet* set) {
    set->AddArgument("JOB.json", &options->job_file, /*is_required=*/true, "The job file");
    set->AddCount("--ps", &options->tasks.ps, 0, kTasksMax,
                  "Number of parameter servers; 0: the workers hold the parameters [0 if the job's "
                  "strategy has none, else 2, or the number in the state directory]");
    set->AddCount("--workers", &options->tasks.workers, kTasksMax,
                  "Number of workers [1 if the job's strategy is of one, else 2]");
    set->AddCount("--evaluators", &options->tasks.evaluators, 0, kTasksMax,
                  "Number of evaluators, which evaluate the epochs while the workers train on [0]");
    set->AddString("--device LIST", &options->device,
                   "Devices of each worker and evaluator, for example cuda:0,cuda:1 [those of the "
                   "job's strategy, "
                   "else auto]");
    set->AddString("--state DIR", &options->state,
                   "Directory of journal, checkpoints, history and logs [cairn-state]");
    set->AddString("--export DIR", &options->export_output,
                   "The trained model: a .keras, .onnx, .safetensors or .ckpt file, a .savedmodel "
                   "folder, or another folder (TF.js layers model)");
    set->AddBool("--json", &options->json, "Print JSON, one object per line");
  };
  command.run = [options](const CommandContext& context) { return Run(*options, context); };
  return command;
}

}  // namespace cairn::cli
