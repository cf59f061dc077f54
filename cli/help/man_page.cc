#include "cli/help/man_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/help/help_text.h"
#include "common/version.h"

namespace cairn::cli {
namespace {

// Escapes text for roff: dashes stay copyable to a shell, backslashes are literal, and no line is
// taken for a request.
std::string Escape(const std::string& text) {
  std::string escaped = absl::StrReplaceAll(
      text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
  if (!escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string Title(const std::string& name, const std::string& description) {
  return absl::StrCat(".TH ", absl::AsciiStrToUpper(name), " 1 \"\" \"Cairn ", kVersion,
                      "\" \"Cairn\"\n.SH NAME\n", Escape(name), " \\- ", Escape(description), "\n");
}

std::string Paragraphs(const std::string& text) {
  std::vector<std::string> paragraphs = absl::StrSplit(text, "\n\n");
  for (std::string& paragraph : paragraphs) paragraph = Escape(paragraph);
  return absl::StrJoin(paragraphs, "\n.PP\n") + "\n";
}

std::string OptionText(const Flag& flag) {
  std::string text = absl::StrCat(".TP\n\\fB", Escape(flag.name), "\\fR");
  if (!flag.value.empty()) absl::StrAppend(&text, " \\fI", Escape(flag.value), "\\fR");
  return absl::StrCat(text, "\n", Escape(flag.help), flag.is_required ? " (required)" : "", "\n");
}

std::string Examples(const std::vector<std::string>& examples) {
  return absl::StrCat(".SH EXAMPLES\n.nf\n", Escape(absl::StrJoin(examples, "\n")), "\n.fi\n");
}

std::string ExitStatus() {
  std::string text = ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : ExitCodes()) {
    absl::StrAppend(&text, ".TP\n", code, "\n", Escape(meaning), "\n");
  }
  return text;
}

}  // namespace

std::string ManPage(const Command& command) {
  std::string page = Title("cairn-" + command.name, command.description);
  absl::StrAppend(&page, ".SH SYNOPSIS\n", Escape(UsageOf(command)), "\n.SH DESCRIPTION\n",
                  Paragraphs(command.description + "."));
  if (!command.details.empty()) absl::StrAppend(&page, ".PP\n", Paragraphs(command.details));
  absl::StrAppend(&page, ".SH OPTIONS\n");
  for (const Flag& flag : FlagsOf(command)) absl::StrAppend(&page, OptionText(flag));
  return absl::StrCat(page, Examples(command.examples), ExitStatus(),
                      ".SH SEE ALSO\n.BR cairn (1)\n");
}

std::string ManOverview(const std::vector<CommandGroup>& groups) {
  std::string page = Title("cairn", "trains models on a cluster with parameter servers");
  absl::StrAppend(&page, ".SH SYNOPSIS\ncairn COMMAND [arguments and flags]\n");
  for (const CommandGroup& group : groups) {
    absl::StrAppend(&page, ".SH ", absl::AsciiStrToUpper(Escape(group.title)), "\n");
    for (const Command& command : group.commands) {
      absl::StrAppend(&page, ".TP\n.BR ", Escape("cairn-" + command.name), " (1)\n",
                      Escape(command.description), "\n");
    }
  }
  return absl::StrCat(page, ".SH JSON\n", Paragraphs(JsonNote()), ExitStatus());
}

}  // namespace cairn::cli
