// The command-line tool `cairn`. Only this file reads the environment.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/commands/command_line.h"
#include "cli/view/terminal.h"
#include "cluster/programs.h"
#include "common/log_control.h"
#include "common/logging.h"
#include "common/standard_files.h"

namespace {

constexpr absl::Duration kLastLinesMayTake = absl::Seconds(2);

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

// Standard error, by lines. It may be a file on a disk that hangs (cairn up in the background):
// then lines wait in the log's queue, and the program goes on.
class StandardError : public std::streambuf {
 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    text_.push_back(traits_type::to_char_type(c));
    if (text_.back() == '\n') cairn::WriteToStandardError(std::exchange(text_, ""));
    return c;
  }
  // What is not a whole line, for a prompt.
  int sync() override {
    if (!text_.empty()) cairn::WriteToStandardError(std::exchange(text_, ""));
    return 0;
  }

 private:
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) {
  cairn::OpenMissingStandardFiles();
  // Logs of the libraries that the daemons use too. Only their errors are shown, because the tool
  // reports its own errors on standard error.
  const absl::Status logging = cairn::InitLogging({.level = "error", .program = "cairn"});
  if (!logging.ok()) std::cerr << "cairn: " << logging.message() << "\n";
  cairn::cli::CommandContext context;
  context.out = &std::cout;
  StandardError standard_error;
  std::ostream error_stream(&standard_error);
  context.err = &error_stream;
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
  const int exit_code =
      cairn::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), context);
  error_stream.flush();
  // exit() would wait for it, too.
  if (!cairn::FlushLog(kLastLinesMayTake)) _exit(exit_code);
  return exit_code;
}
