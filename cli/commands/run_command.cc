#include <memory>

#include "CLI/CLI.hpp"
#include "cli/commands/command.h"
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

void AddRunCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand(
      "run", "Start a cluster on this machine, train a job, and stop it; goes on where it stopped");
  auto options = std::make_shared<LocalRunOptions>();
  command->add_option("JOB.json", options->job_file, "The job file")->required();
  command
      ->add_option("--ps", options->ps,
                   "How many parameter servers [2, or as many as the state was begun with]")
      ->check(CLI::Range(1, kTasksMax));
  command->add_option("--workers", options->workers, "How many workers [2]")
      ->check(CLI::Range(1, kTasksMax));
  command->add_option("--state", options->state,
                      "The directory for journal, checkpoints, history and logs [cairn-state]");
  command->add_option("--export", options->export_folder,
                      "A folder for the trained model, as a TF.js layers model");
  command->add_flag("--json", options->json, "Print JSON, one object a line");
  command->footer(
      "Ctrl-C takes a checkpoint and stops; the same command goes on. Twice: stops at once.\n\n"
      "Example:\n  cairn run job.json --ps 2 --workers 4 --export trained");
  command->callback([options, action] {
    *action = [options](const CommandContext& context) { return Run(*options, context); };
  });
}

}  // namespace cairn::cli
