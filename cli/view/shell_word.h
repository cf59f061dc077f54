#ifndef CAIRN_CLI_VIEW_SHELL_WORD_H_
#define CAIRN_CLI_VIEW_SHELL_WORD_H_

#include <string>

namespace cairn::cli {

// `text` as one word of a shell command: unchanged, or in single quotes if it contains characters
// that are special to a shell.
std::string ShellWord(const std::string& text);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_VIEW_SHELL_WORD_H_
