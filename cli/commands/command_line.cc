#include "cli/commands/command_line.h"

#include <algorithm>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

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

void AddCommands(CLI::App* app, Action* action) {
  AddRunCommand(app, action);
  AddSubmitCommand(app, action);
  AddJobsCommand(app, action);
  AddStatusCommand(app, action);
  AddFollowCommand(app, action);
  AddCancelCommand(app, action);
  AddHistoryCommand(app, action);
  AddCheckpointCommand(app, action);
  AddCheckpointsCommand(app, action);
  AddExportCommand(app, action);
  AddPredictCommand(app, action);
  AddVersionCommand(app, action);
}

// `cairn help [COMMAND]`, the same as --help.
void AddHelpCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("help", "Explain cairn, or one of its commands");
  auto topic = std::make_shared<std::string>();
  command->add_option("COMMAND", *topic, "The command to explain");
  command->footer("Example:\n  cairn help run");
  command->callback([app, topic, action] {
    *action = [app, topic](const CommandContext& context) -> absl::StatusOr<int> {
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
  });
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
  Action action;
  AddCommands(&app, &action);
  AddHelpCommand(&app, &action);
  try {
    // CLI11 takes the last argument first.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& help) {
    return app.exit(help, *context.out, *context.err);
  } catch (const CLI::ParseError& error) {
    *context.err << "cairn: " << Printable(UsageError(app, error)) << "\n";
    return kExitBadInput;
  }
  const absl::StatusOr<int> result = action(context);
  if (result.ok()) return *result;
  *context.err << "cairn: " << Printable(std::string(result.status().message())) << "\n";
  return ExitCodeOf(result.status());
}

}  // namespace cairn::cli
