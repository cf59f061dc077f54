#ifndef CAIRN_CLI_COMMANDS_COMMAND_H_
#define CAIRN_CLI_COMMANDS_COMMAND_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace CLI {
class App;
}

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
  bool is_terminal = false;              // Standard output is one.
  bool color = false;                    // It may have colors.
  int terminal_width = 80;
};

// Does the work and returns the exit code; an error is printed by the caller, and its code decides
// the exit code.
using Action = std::function<absl::StatusOr<int>(const CommandContext&)>;

// One function per command, each in its own file: adds the subcommand to `app`; when the command
// line names it, `*action` is set. Flags live as long as the action.
void AddRunCommand(CLI::App* app, Action* action);
void AddSubmitCommand(CLI::App* app, Action* action);
void AddJobsCommand(CLI::App* app, Action* action);
void AddStatusCommand(CLI::App* app, Action* action);
void AddFollowCommand(CLI::App* app, Action* action);
void AddCancelCommand(CLI::App* app, Action* action);
void AddHistoryCommand(CLI::App* app, Action* action);
void AddCheckpointCommand(CLI::App* app, Action* action);
void AddCheckpointsCommand(CLI::App* app, Action* action);
void AddExportCommand(CLI::App* app, Action* action);
void AddPredictCommand(CLI::App* app, Action* action);
void AddVersionCommand(CLI::App* app, Action* action);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_COMMAND_H_
