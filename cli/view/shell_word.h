#ifndef CAIRN_CLI_VIEW_SHELL_WORD_H_
#define CAIRN_CLI_VIEW_SHELL_WORD_H_

#include <string>

namespace cairn::cli {

// `text` as one word of a command line that a user may copy into a shell: as it is, or in single
// quotes if a shell would see more in it.
std::string ShellWord(const std::string& text);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_VIEW_SHELL_WORD_H_
