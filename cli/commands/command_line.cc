#include "cli/commands/command_line.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "cli/commands/command_table.h"
#include "cli/commands/flag_set.h"
#include "cli/help/help_text.h"
#include "cli/view/shell_word.h"
#include "common/flag_checks.h"
#include "common/nearest_name.h"
#include "common/printable.h"
#include "common/version.h"

namespace cairn::cli {
namespace {

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitDone;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnknown:
      return kExitJobFailed;
    default:
      return kExitBadInput;
  }
}

void AddCommand(const Command& command, CLI::App* app) {
  CLI::App* subcommand = app->add_subcommand(command.name, command.description);
  FlagSet flags(subcommand);
  command.add_flags(&flags);
}

std::vector<Command> Flat(std::vector<CommandGroup> groups) {
  std::vector<Command> commands;
  for (CommandGroup& group : groups) {
    for (Command& command : group.commands) commands.push_back(std::move(command));
  }
  return commands;
}

std::vector<std::string> NamesOf(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

const Command* Find(const std::vector<Command>& commands, const CLI::App& app) {
  const auto used = app.get_subcommands();
  for (const Command& command : commands) {
    if (!used.empty() && command.name == used.front()->get_name()) return &command;
  }
  return nullptr;
}

std::string UnknownCommand(const std::string& word, const std::vector<Command>& commands) {
  if (word[0] == '-') {
    return absl::StrCat("a flag needs a command before it: ", word, "; see cairn --help");
  }
  return absl::StrCat("there is no command ", ShellWord(word), DidYouMean(word, NamesOf(commands)),
                      "; see cairn --help");
}

std::string UnknownFlag(const std::string& word, const Command& command) {
  std::vector<std::string> names;
  for (const Flag& flag : FlagsOf(command)) {
    if (!flag.is_argument) names.push_back(flag.name);
  }
  const std::string flag = word.substr(0, word.find('='));
  if (std::find(names.begin(), names.end(), flag) != names.end()) {
    return absl::StrCat("flags come after a command: cairn ", command.name, " ... ", flag,
                        "; see cairn ", command.name, " --help");
  }
  return absl::StrCat("cairn ", command.name, " has no flag ", flag, DidYouMean(flag, names),
                      "; see cairn ", command.name, " --help");
}

std::string UsageError(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<Command>& commands) {
  const auto left = app.remaining(/*recurse=*/true);
  const Command* command = Find(commands, app);
  if (command == nullptr) {
    return left.empty() ? "missing command; see cairn --help"
                        : UnknownCommand(left.front(), commands);
  }
  if (!left.empty() && left.front()[0] == '-') return UnknownFlag(left.front(), *command);
  if (!left.empty() && error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    return absl::StrCat(command->name, ": \"", left.front(), "\" is an extra argument; see cairn ",
                        command->name, " --help");
  }
  return absl::StrCat(command->name, ": ", FlagErrorText(error.what()), "; see cairn ",
                      command->name, " --help");
}

// Parses the arguments. Returns nullptr if there is nothing to run, and then sets `*exit_code`.
const Command* Parse(const std::vector<std::string>& arguments,
                     const std::vector<Command>& commands, const CommandContext& context,
                     int* exit_code) {
  CLI::App app("", "cairn");
  app.require_subcommand(1);
  app.set_version_flag("--version", absl::StrCat("cairn ", kVersion));
  for (const Command& command : commands) AddCommand(command, &app);
  try {
    // CLI11 expects the last argument first.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    const Command* command = Find(commands, app);
    *context.out << (command == nullptr ? OverviewText(AllCommands()) : HelpText(*command));
    *exit_code = kExitDone;
    return nullptr;
  } catch (const CLI::CallForVersion& version) {
    *context.out << version.what() << "\n";
    *exit_code = kExitDone;
    return nullptr;
  } catch (const CLI::ParseError& error) {
    *context.err << "cairn: " << PrintableLine(UsageError(app, error, commands)) << "\n";
    *exit_code = kExitBadInput;
    return nullptr;
  }
  return Find(commands, app);
}

// Turns exceptions of libraries into errors: memory is short, or a folder was removed meanwhile.
absl::StatusOr<int> Run(const Command& command, const CommandContext& context) {
  try {
    return command.run(context);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(
        command.name, ": out of memory; close other programs, or use a machine with more"));
  } catch (const std::exception& error) {
    return absl::FailedPreconditionError(absl::StrCat(command.name, ": ", error.what()));
  }
}

// An output that could not be written, for example to a full disk, is not a success.
int CheckOutput(int exit_code, const CommandContext& context) {
  context.out->flush();
  if (context.out->good()) return exit_code;
  *context.err << "cairn: cannot write the output\n";
  return exit_code == kExitDone ? kExitBadInput : exit_code;
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments, const CommandContext& context) {
  const std::vector<Command> commands = Flat(AllCommands());
  int exit_code = kExitDone;
  const Command* command = Parse(arguments, commands, context, &exit_code);
  if (command == nullptr) return CheckOutput(exit_code, context);
  const absl::StatusOr<int> result = Run(*command, context);
  if (result.ok()) return CheckOutput(*result, context);
  context.out->flush();
  *context.err << "cairn: " << Printable(std::string(result.status().message())) << "\n";
  return ExitCodeOf(result.status());
}

}  // namespace cairn::cli
