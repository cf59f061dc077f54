// The command-line tool `cairn`. Only this file reads the environment.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands/command_line.h"
#include "cli/view/terminal.h"
#include "cluster/programs.h"
#include "common/logging.h"
#include "common/standard_files.h"

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The folder for a user's state according to the XDG Base Directory Specification.
std::string UserFolder() {
  const std::string states = Environment("XDG_STATE_HOME");
  if (!states.empty() && states[0] == '/') return states + "/cairn";
  const std::string home = Environment("HOME");
  return home.empty() ? "" : home + "/.local/state/cairn";
}

}  // namespace

int main(int argc, char** argv) {
  cairn::OpenMissingStandardFiles();
  // Logs of the libraries that the daemons use too. Only their errors are shown, because the tool
  // reports its own errors on standard error.
  const absl::Status logging = cairn::InitLogging({.level = "error", .program = "cairn"});
  if (!logging.ok()) std::cerr << "cairn: " << logging.message() << "\n";
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
  context.terminal_width = cairn::cli::SizeOfTerminal(STDOUT_FILENO).columns;
  const auto folder = cairn::cluster::OwnFolder();
  if (!folder.ok()) {
    std::cerr << "cairn: " << folder.status().message() << "\n";
    return cairn::cli::kExitBadInput;
  }
  context.programs_folder = *folder;
  context.user_folder = UserFolder();
  return cairn::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), context);
}
