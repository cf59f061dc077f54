#include "cli/commands/command_line.h"

#include <algorithm>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands/flag_set.h"

namespace cairn::cli {
namespace {

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitDone;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnknown:
      return kExitJobFailed;
    default:
      return kExitBadInput;
  }
}

// Every command there is.
std::vector<Command> AllCommands() {
  return {MakeRunCommand(),     MakeSubmitCommand(),     MakeJobsCommand(),
          MakeStatusCommand(),  MakeFollowCommand(),     MakeCancelCommand(),
          MakeHistoryCommand(), MakeCheckpointCommand(), MakeCheckpointsCommand(),
          MakeExportCommand(),  MakePredictCommand(),    MakeProfileCommand(),
          MakeVersionCommand()};
}

// `cairn help [COMMAND]`, the same as --help.
Command MakeHelpCommand(const CLI::App* app) {
  auto topic = std::make_shared<std::string>();
  Command command;
  command.name = "help";
  command.description = "Explain cairn, or one of its commands";
  command.footer = "Example:\n  cairn help run";
  command.add_flags = [topic](FlagSet* set) {
    set->AddArgument("COMMAND", topic.get(), /*is_required=*/false, "The command to explain");
  };
  command.run = [app, topic](const CommandContext& context) -> absl::StatusOr<int> {
    const auto named = app->get_subcommands(
        [&topic](const CLI::App* command) { return command->get_name() == *topic; });
    if (!topic->empty() && named.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no command ", *topic, "; see cairn --help"));
    }
    const CLI::App* explained = topic->empty() ? app : named.front();
    // App::help would explain this very command instead of the whole program.
    const std::string name = topic->empty() ? "cairn" : absl::StrCat("cairn ", *topic);
    *context.out << explained->get_formatter()->make_help(explained, name,
                                                          CLI::AppFormatMode::Normal);
    return kExitDone;
  };
  return command;
}

void AddCommand(const Command& command, CLI::App* app) {
  CLI::App* subcommand = app->add_subcommand(command.name, command.description);
  subcommand->footer(command.footer);
  FlagSet flags(subcommand);
  command.add_flags(&flags);
}

// Length of the UTF-8 character at the beginning of `text`; 0 if there is none.
size_t Utf8Length(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t length = lead < 0x80       ? 1
                        : lead >> 5 == 6  ? 2
                        : lead >> 4 == 14 ? 3
                        : lead >> 3 == 30 ? 4
                                          : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// Messages quote what was wrong, which may be anything: nothing of it is to reach a terminal as a
// control character.
std::string Printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const bool is_control = length == 1 && absl::ascii_iscntrl(text[0]) && text[0] != '\n';
    if (length == 0 || is_control) {
      absl::StrAppendFormat(&result, "\\x%02x", static_cast<uint8_t>(text[0]));
    } else {
      result.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

std::string UsageError(const CLI::App& app, const CLI::ParseError& error) {
  const auto used = app.get_subcommands();
  const auto left = app.remaining();
  if (used.empty() && !left.empty()) {
    return absl::StrCat("there is no command ", left.front(), "; see cairn --help");
  }
  return absl::StrCat(error.what(), "; see cairn ",
                      used.empty() ? "" : absl::StrCat(used.front()->get_name(), " "), "--help");
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments, const CommandContext& context) {
  CLI::App app("Cairn trains models on a cluster with parameter servers.", "cairn");
  app.require_subcommand(1);
  app.footer(
      "Example:\n  cairn run job.json\n\n"
      "Exit codes: 0 done, 1 job failed, 2 bad usage or input, 3 cannot reach the cluster.");
  std::vector<Command> commands = AllCommands();
  commands.push_back(MakeHelpCommand(&app));
  for (const Command& command : commands) AddCommand(command, &app);
  try {
    // CLI11 takes the last argument first.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& help) {
    return app.exit(help, *context.out, *context.err);
  } catch (const CLI::ParseError& error) {
    *context.err << "cairn: " << Printable(UsageError(app, error)) << "\n";
    return kExitBadInput;
  }
  const std::string used = app.get_subcommands().front()->get_name();
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&used](const Command& each) { return each.name == used; });
  const absl::StatusOr<int> result = command->run(context);
  if (result.ok()) return *result;
  *context.err << "cairn: " << Printable(std::string(result.status().message())) << "\n";
  return ExitCodeOf(result.status());
}

}  // namespace cairn::cli
