// cairn: how people use a cluster. All that is read from outside is read here.

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands/command_line.h"
#include "cli/local/programs.h"

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int TerminalWidth() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

int main(int argc, char** argv) {
  cairn::cli::CommandContext context;
  context.out = &std::cout;
  context.err = &std::cerr;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    context.environment.emplace_back(*variable);
  }
  context.tf_config = Environment("TF_CONFIG");
  const std::string terminal = Environment("TERM");
  context.is_terminal = isatty(STDOUT_FILENO) != 0 && terminal != "dumb" && !terminal.empty();
  // https://no-color.org
  context.color = context.is_terminal && Environment("NO_COLOR").empty();
  context.terminal_width = TerminalWidth();
  const auto folder = cairn::cli::OwnFolder();
  if (!folder.ok()) {
    std::cerr << "cairn: " << folder.status().message() << "\n";
    return cairn::cli::kExitBadInput;
  }
  context.programs_folder = *folder;
  return cairn::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), context);
}
