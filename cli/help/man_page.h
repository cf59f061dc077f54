#ifndef CAIRN_CLI_HELP_MAN_PAGE_H_
#define CAIRN_CLI_HELP_MAN_PAGE_H_

#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace cairn::cli {

// Manual pages (section 1, in the format of man(7)) with the contents of `--help`.

// The page cairn-NAME.1.
std::string ManPage(const Command& command);

// The page cairn.1, which lists all commands.
std::string ManOverview(const std::vector<CommandGroup>& groups);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_HELP_MAN_PAGE_H_
