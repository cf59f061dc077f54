#include "cli/help/help_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace cairn::cli {
namespace {

constexpr size_t kWidth = 88;

// Breaks paragraphs into lines of at most kWidth characters that begin with `indent` spaces.
std::string Wrap(const std::string& text, size_t indent) {
  std::string result;
  for (const std::string& paragraph : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    std::string line;
    for (const auto& word : absl::StrSplit(paragraph, ' ', absl::SkipEmpty())) {
      if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) {
        absl::StrAppend(&result, std::string(indent, ' '), line, "\n");
        line.clear();
      }
      absl::StrAppend(&line, line.empty() ? "" : " ", word);
    }
    absl::StrAppend(&result, line.empty() ? "" : std::string(indent, ' '), line, "\n");
  }
  return result;
}

// "  NAME   text", with the text in a column of its own.
std::string Entry(const std::string& name, const std::string& text, size_t column) {
  std::string entry = "  " + name;
  if (entry.size() + 2 > column) {
    absl::StrAppend(&entry, "\n", Wrap(text, column));
    return entry;
  }
  entry.resize(column, ' ');
  return entry + Wrap(text, column).substr(column);
}

std::string Label(const Flag& flag) {
  return flag.value.empty() ? flag.name : absl::StrCat(flag.name, " ", flag.value);
}

std::string Remark(const Flag& flag) {
  if (flag.is_argument) return flag.help;
  const std::string required = flag.is_required ? " (required)" : "";
  return absl::StrCat(flag.help, required);
}

void AppendFlags(const std::vector<Flag>& flags, bool arguments, std::string* text) {
  constexpr size_t kColumn = 26;
  bool is_first = true;
  for (const Flag& flag : flags) {
    if (flag.is_argument != arguments) continue;
    if (is_first) absl::StrAppend(text, arguments ? "\nArguments:\n" : "\nFlags:\n");
    absl::StrAppend(text, Entry(Label(flag), Remark(flag), kColumn));
    is_first = false;
  }
}

}  // namespace

std::vector<Flag> FlagsOf(const Command& command) {
  FlagSet set(nullptr);
  command.add_flags(&set);
  std::vector<Flag> flags = set.flags();
  Flag help;
  help.name = "--help";
  help.help = "Show this text";
  flags.push_back(help);
  return flags;
}

std::string UsageOf(const Command& command) {
  std::string usage = "cairn " + command.name;
  for (const Flag& flag : FlagsOf(command)) {
    const std::string label = absl::StrCat(Label(flag), flag.is_repeated ? "..." : "");
    if (flag.is_required) {
      absl::StrAppend(&usage, " ", label);
    } else if (flag.is_argument) {
      absl::StrAppend(&usage, " [", label, "]");
    }
  }
  return usage + " [flags]";
}

std::string HelpText(const Command& command) {
  std::string text = absl::StrCat("Usage: ", UsageOf(command), "\n\n");
  absl::StrAppend(&text, Wrap(command.description + ".", 0));
  if (!command.details.empty()) absl::StrAppend(&text, "\n", Wrap(command.details, 0));
  const std::vector<Flag> flags = FlagsOf(command);
  AppendFlags(flags, /*arguments=*/true, &text);
  AppendFlags(flags, /*arguments=*/false, &text);
  absl::StrAppend(&text, "\nExamples:\n  ", absl::StrJoin(command.examples, "\n  "), "\n");
  return text;
}

std::string OverviewText(const std::vector<CommandGroup>& groups) {
  constexpr size_t kColumn = 16;
  std::string text =
      "Usage: cairn COMMAND [arguments and flags]\n\nCairn trains models on a cluster with "
      "parameter servers.\n";
  for (const CommandGroup& group : groups) {
    absl::StrAppend(&text, "\n", group.title, ":\n");
    for (const Command& command : group.commands) {
      absl::StrAppend(&text, Entry(command.name, command.description, kColumn));
    }
  }
  const std::string codes = absl::StrJoin(ExitCodes(), ", ", absl::PairFormatter(" "));
  absl::StrAppend(&text, "\nExamples:\n  cairn init my-job\n  cairn run my-job/job.json\n\n",
                  Wrap(absl::StrCat("Exit codes: ", codes, "."), 0), Wrap(JsonNote(), 0),
                  "Help for a command: cairn COMMAND --help\n");
  return text;
}

std::string JsonNote() {
  return "With --json, commands print JSON, one object per line. In it epochs and batches count "
         "from "
         "0, and numbers that are not finite are null. Errors are text on standard error.";
}

std::vector<std::pair<std::string, std::string>> ExitCodes() {
  return {{absl::StrCat(kExitDone), "success"},
          {absl::StrCat(kExitJobFailed),
           "job failed, was cancelled or ended with a loss that is not finite"},
          {absl::StrCat(kExitBadInput), "bad usage or input"},
          {absl::StrCat(kExitUnreachable), "cannot reach the cluster"},
          {"128+N", "ended by signal N (Ctrl-C: 130)"}};
}

}  // namespace cairn::cli
