#ifndef CAIRN_CLI_COMMANDS_COMMAND_H_
#define CAIRN_CLI_COMMANDS_COMMAND_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::cli {

// Exit codes of `cairn`. ExitCodes() in cli/help/help_text.h describes them to users.
inline constexpr int kExitDone = 0;
inline constexpr int kExitJobFailed = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitUnreachable = 3;

// The environment of a command: everything except its flags.
struct CommandContext {
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  std::vector<std::string> environment;  // NAME=VALUE, for daemons.
  std::string tf_config;                 // The environment's TF_CONFIG, or empty.
  std::string programs_folder;           // The folder of this program.
  // The folder in which `cairn` stores state of this user between calls; empty if there is none.
  std::string user_folder;
  bool is_terminal = false;  // Standard output is a terminal.
  bool color = false;        // The output may have colors.
  int terminal_width = 80;
};

class FlagSet;

// One command. Its two functions share the storage of its flags.
struct Command {
  std::string name;
  std::string description;
  // More paragraphs of its help; may be empty.
  std::string details;
  // Whole command lines, for help and the manual page; never empty.
  std::vector<std::string> examples;
  std::function<void(FlagSet*)> add_flags;
  // Executes the command and returns the exit code. The caller prints an error and maps it to an
  // exit code.
  std::function<absl::StatusOr<int>(const CommandContext&)> run;
};

// A group of commands in the help.
struct CommandGroup {
  std::string title;
  std::vector<Command> commands;
};

// The factory of each command is in the file of its name.
Command MakeRunCommand();
Command MakeSubmitCommand();
Command MakeJobsCommand();
Command MakeStatusCommand();
Command MakeFollowCommand();
Command MakeCancelCommand();
Command MakeResumeCommand();
Command MakeDeleteCommand();
Command MakeHistoryCommand();
Command MakeCheckpointCommand();
Command MakeCheckpointsCommand();
Command MakeExportCommand();
Command MakePredictCommand();
Command MakeProfileCommand();
Command MakeVersionCommand();
Command MakeUpCommand();
Command MakeDownCommand();
Command MakeLogsCommand();
Command MakeClusterCommand();
Command MakeTopCommand();
Command MakeEvaluateCommand();
Command MakeDoctorCommand();
Command MakeDrillCommand();
Command MakeInitCommand();
Command MakeHelpCommand();
Command MakeCompletionCommand();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_COMMAND_H_
