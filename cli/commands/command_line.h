#ifndef CAIRN_CLI_COMMANDS_COMMAND_LINE_H_
#define CAIRN_CLI_COMMANDS_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace cairn::cli {

// Runs `cairn ARGUMENTS` (without the program's name) and returns its exit code. Results go to
// context.out, errors to context.err as one "cairn: ..." with the fix.
int RunCommandLine(const std::vector<std::string>& arguments, const CommandContext& context);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_COMMAND_LINE_H_
