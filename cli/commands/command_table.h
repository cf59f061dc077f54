#ifndef CAIRN_CLI_COMMANDS_COMMAND_TABLE_H_
#define CAIRN_CLI_COMMANDS_COMMAND_TABLE_H_

#include <vector>

#include "cli/commands/command.h"

namespace cairn::cli {

// All commands, in the order of the help.
std::vector<CommandGroup> AllCommands();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_COMMAND_TABLE_H_
