#ifndef CAIRN_CLI_HELP_COMPLETION_H_
#define CAIRN_CLI_HELP_COMPLETION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands/command.h"

namespace cairn::cli {

// The shells that CompletionScript knows.
std::vector<std::string> CompletionShells();

// A script with which `shell` completes commands, their flags, and elsewhere file names.
// InvalidArgument: unknown shell.
absl::StatusOr<std::string> CompletionScript(const std::string& shell,
                                             const std::vector<CommandGroup>& groups);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_HELP_COMPLETION_H_
