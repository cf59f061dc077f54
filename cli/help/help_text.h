#ifndef CAIRN_CLI_HELP_HELP_TEXT_H_
#define CAIRN_CLI_HELP_HELP_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/flag_set.h"

namespace cairn::cli {

// What `--help` shows. Manual pages and completion are made of the same fields.

// What a command takes, --help at the end.
std::vector<Flag> FlagsOf(const Command& command);

// "cairn run JOB.json [flags]".
std::string UsageOf(const Command& command);

// Usage, description, arguments, flags and examples of one command.
std::string HelpText(const Command& command);

// All commands, by group, each with its one line.
std::string OverviewText(const std::vector<CommandGroup>& groups);

// What every --json has in common.
std::string JsonNote();

// cairn's exit codes and what they mean.
std::vector<std::pair<std::string, std::string>> ExitCodes();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_HELP_HELP_TEXT_H_
