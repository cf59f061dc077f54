#ifndef CAIRN_CLI_COMMANDS_COMMAND_LINE_H_
#define CAIRN_CLI_COMMANDS_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace cairn::cli {

// Runs `cairn ARGUMENTS` (without the program's name) and returns its exit code. Results go to
// context.out. An error goes to context.err as one message, "cairn: ...", which says what to do.
int RunCommandLine(const std::vector<std::string>& arguments, const CommandContext& context);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_COMMAND_LINE_H_
