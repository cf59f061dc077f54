#include "cli/commands/command_table.h"

namespace cairn::cli {

std::vector<CommandGroup> AllCommands() {
  return {
      {"On this machine",
       {MakeInitCommand(), MakeRunCommand(), MakeUpCommand(), MakeDownCommand(), MakeLogsCommand(),
        MakeDoctorCommand(), MakeDrillCommand()}},
      {"Jobs",
       {MakeSubmitCommand(), MakeFollowCommand(), MakeJobsCommand(), MakeStatusCommand(),
        MakeHistoryCommand(), MakeCancelCommand(), MakeResumeCommand(), MakeDeleteCommand()}},
      {"Models",
       {MakeExportCommand(), MakePredictCommand(), MakeEvaluateCommand(), MakeCheckpointCommand(),
        MakeCheckpointsCommand()}},
      {"The cluster", {MakeClusterCommand(), MakeTopCommand(), MakeProfileCommand()}},
      {"cairn itself", {MakeHelpCommand(), MakeCompletionCommand(), MakeVersionCommand()}},
  };
}

}  // namespace cairn::cli
