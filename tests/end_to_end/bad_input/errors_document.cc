#include "tests/end_to_end/bad_input/errors_document.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace cairn::testing {
namespace {

constexpr char kHeadline[] = "\n## ";
constexpr int kUsualExitCode = 2;

constexpr char kIntroduction[] =
    R"(# What Cairn says to bad input

Everything that people and other programs hand to Cairn, in every way in which it can be wrong, and the message. A message
names the thing, what is wrong with it and, where one can know, what to do; no two of them are alike. Programs end with 2
where no other exit code stands behind the message, and a cluster that has refused a job serves the next one.

`tests/end_to_end/bad_input` makes every one of these inputs, gives it to the real programs and compares what they say with
this page, which is written by `tests/end_to_end/bad_input/accept.sh` alone. So many ways to be wrong are tried; where there
is no number, the section says why:

)";

std::string Cell(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", "<br>"}});
}

// Encloses the text in as many backticks as needed.
std::string Code(const std::string& text) {
  const std::string fence = text.find('`') == std::string::npos ? "`" : "``";
  return absl::StrReplaceAll(absl::StrCat(fence, text, fence),
                             {{"|", "\\|"}, {"\n", fence + "<br>" + fence}});
}

int CountOf(const InputKind& kind, std::string_view badness) {
  return static_cast<int>(
      std::count_if(kind.cases.begin(), kind.cases.end(),
                    [&](const BadCase& bad) { return bad.badness == badness; }));
}

std::string Overview(const std::vector<InputKind>& kinds) {
  std::string text = "| ";
  for (const InputKind& kind : kinds) absl::StrAppend(&text, "| ", std::string(kind.title), " ");
  text += "|\n|---";
  for (size_t i = 0; i < kinds.size(); ++i) text += "|---";
  text += "|\n";
  for (const std::string_view badness : kBadness) {
    absl::StrAppend(&text, "| ", std::string(badness), " ");
    for (const InputKind& kind : kinds) {
      const int count = CountOf(kind, badness);
      absl::StrAppend(&text, "| ", count == 0 ? "" : absl::StrCat(count, " "));
    }
    text += "|\n";
  }
  return text;
}

}  // namespace

std::string ErrorsRow(const BadCase& bad, const Outcome& outcome) {
  std::string row =
      absl::StrCat("| ", std::string(bad.badness), " | ", Cell(std::string(bad.what)));
  if (!bad.command.empty()) absl::StrAppend(&row, ": ", Code(std::string(bad.command)));
  absl::StrAppend(&row, " | ", Code(outcome.says));
  if (outcome.exit_code != kUsualExitCode) {
    absl::StrAppend(&row, " (exit code ", outcome.exit_code, ")");
  }
  return row + " |\n";
}

std::string ErrorsSection(const InputKind& kind, const std::vector<Outcome>& outcomes) {
  std::string text = absl::StrCat(
      std::string(kHeadline), std::string(kind.title), "\n\n", std::string(kind.about),
      " Given with ", Code(std::string(kind.command)), " where the row does not say otherwise.\n\n",
      "| | What is wrong | What is said |\n|---|---|---|\n");
  for (size_t i = 0; i < outcomes.size(); ++i)
    text += ErrorsRow(kind.cases.begin()[i], outcomes[i]);
  for (const Impossible& none : kind.impossible) {
    absl::StrAppend(&text, "| ", std::string(none.badness),
                    " | | cannot be: ", std::string(none.why), " |\n");
  }
  return text;
}

std::string ErrorsDocument(const std::vector<InputKind>& kinds,
                           const std::map<std::string, std::string>& sections) {
  std::string text = kIntroduction + Overview(kinds);
  for (const InputKind& kind : kinds) {
    const auto section = sections.find(std::string(kind.title));
    if (section != sections.end()) text += section->second;
  }
  return text;
}

std::map<std::string, std::string> SectionsOf(const std::string& document) {
  std::map<std::string, std::string> sections;
  size_t begin = document.find(kHeadline);
  while (begin != std::string::npos) {
    const size_t title = begin + sizeof(kHeadline) - 1;
    const size_t end = document.find(kHeadline, title);
    sections[document.substr(title, document.find('\n', title) - title)] =
        document.substr(begin, end == std::string::npos ? end : end - begin);
    begin = end;
  }
  return sections;
}

}  // namespace cairn::testing
