#ifndef CAIRN_CLI_HELP_HELP_TEXT_H_
#define CAIRN_CLI_HELP_HELP_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/flag_set.h"

namespace cairn::cli {

// The texts of `--help`. Manual pages and completion use the same fields of Command.

// The arguments and flags of a command, --help last.
std::vector<Flag> FlagsOf(const Command& command);

// "cairn run JOB.json [flags]".
std::string UsageOf(const Command& command);

// Usage, description, arguments, flags and examples of one command.
std::string HelpText(const Command& command);

// All commands by group, with one line each.
std::string OverviewText(const std::vector<CommandGroup>& groups);

// A note about --json that holds for all commands.
std::string JsonNote();

// cairn's exit codes and what they mean.
std::vector<std::pair<std::string, std::string>> ExitCodes();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_HELP_HELP_TEXT_H_
