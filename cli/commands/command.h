#ifndef CAIRN_CLI_COMMANDS_COMMAND_H_
#define CAIRN_CLI_COMMANDS_COMMAND_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitJobFailed = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitUnreachable = 3;

// What a command has to work with: everything that comes from outside its own flags.
struct CommandContext {
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  std::vector<std::string> environment;  // NAME=VALUE, for daemons.
  std::string tf_config;                 // The environment's TF_CONFIG, or empty.
  std::string programs_folder;           // Where this program lies.
  // Where this user's `cairn` remembers things between calls; empty: nowhere.
  std::string user_folder;
  bool is_terminal = false;  // Standard output is one.
  bool color = false;        // It may have colors.
  int terminal_width = 80;
};

class FlagSet;

// One command. Its flags live in what the two functions share.
struct Command {
  std::string name;
  std::string description;
  // What else its help says, in paragraphs; may be empty.
  std::string details;
  // Whole command lines, for help and the manual page; never empty.
  std::vector<std::string> examples;
  std::function<void(FlagSet*)> add_flags;
  // Does the work and returns the exit code; an error is printed by the caller, and its code
  // decides the exit code.
  std::function<absl::StatusOr<int>(const CommandContext&)> run;
};

// Commands under one headline of the help.
struct CommandGroup {
  std::string title;
  std::vector<Command> commands;
};

// Each in its own file.
Command MakeRunCommand();
Command MakeSubmitCommand();
Command MakeJobsCommand();
Command MakeStatusCommand();
Command MakeFollowCommand();
Command MakeCancelCommand();
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
Command MakeInitCommand();
Command MakeHelpCommand();
Command MakeCompletionCommand();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_COMMAND_H_
