#ifndef CAIRN_CLI_HELP_MAN_PAGE_H_
#define CAIRN_CLI_HELP_MAN_PAGE_H_

#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace cairn::cli {

// Manual pages (section 1, man(7)) made of what `--help` shows.

// cairn-NAME.1.
std::string ManPage(const Command& command);

// cairn.1: what there is.
std::string ManOverview(const std::vector<CommandGroup>& groups);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_HELP_MAN_PAGE_H_
