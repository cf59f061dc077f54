#include "worker/data/csv/csv_problems.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/printable.h"
#include "worker/data/csv/csv_value.h"

namespace cairn::worker {
namespace {

// The bytes of a value that are kept. QuotedField shows fewer.
constexpr size_t kValueBytes = 100;

// 'it is "Yes" but for letter case', if the value differs from a name only in this.
std::string LikenessText(std::string_view value, const CsvReason& reason) {
  if (reason.names == nullptr) return "";
  const absl::string_view bare =
      absl::StripAsciiWhitespace(absl::string_view(value.data(), value.size()));
  const bool blanks = bare.size() != value.size();
  for (const std::string& name : *reason.names) {
    const absl::string_view bare_name = absl::StripAsciiWhitespace(name);
    if (name == value || !absl::EqualsIgnoreCase(bare, bare_name)) continue;
    const bool letter_case = bare != bare_name;
    const bool any_blanks = blanks || bare_name.size() != name.size();
    return absl::StrCat("it is ", QuotedField(name), " but for ", letter_case ? "letter case" : "",
                        letter_case && any_blanks ? " and " : "",
                        any_blanks ? "blanks around it" : "");
  }
  return "";
}

std::string ValueText(const CsvReason& reason, const std::string& value) {
  return reason.column.empty() ? value : QuotedField(value);
}

}  // namespace

CsvProblems::Problem* CsvProblems::Find(Key key) {
  for (Problem& problem : problems_) {
    if (problem.key == key) return &problem;
  }
  return nullptr;
}

void CsvProblems::AddValue(const Value& value, Problem* problem) {
  for (Value& known : problem->values) {
    if (known.text != value.text) continue;
    known.count += value.count;
    return;
  }
  if (problem->values.size() < kNamesShown) {
    problem->values.push_back(value);
  } else {
    problem->uncounted += value.count;
  }
}

void CsvProblems::AddUnlisted(Key key, int64_t count) {
  Problem* const known = Find(key);
  (known != nullptr ? known->uncounted : unlisted_[key]) += count;
}

void CsvProblems::Add(int column, int kind, int64_t line, std::string_view value,
                      Describe describe) {
  if (line != last_line_) ++lines_;
  last_line_ = line;
  const Key key = {column, kind};
  Problem* problem = Find(key);
  if (problem == nullptr) {
    if (problems_.size() == kProblemsShown) return AddUnlisted(key, 1);
    problem = &problems_.emplace_back(Problem{key, describe(), {}, 0});
  }
  AddValue({std::string(value.substr(0, kValueBytes)), line, 1}, problem);
}

void CsvProblems::Append(CsvProblems* later) {
  lines_ += later->lines_;
  std::move(later->texts_.begin(), later->texts_.end(), std::back_inserter(texts_));
  for (Problem& problem : later->problems_) {
    Problem* const known = Find(problem.key);
    if (known != nullptr) {
      for (const Value& value : problem.values) AddValue(value, known);
      known->uncounted += problem.uncounted;
    } else if (problems_.size() < kProblemsShown) {
      problems_.push_back(std::move(problem));
    } else {
      int64_t count = problem.uncounted;
      for (const Value& value : problem.values) count += value.count;
      AddUnlisted(problem.key, count);
    }
  }
  for (const auto& [key, count] : later->unlisted_) AddUnlisted(key, count);
  if (!later->end_.empty()) end_ = std::move(later->end_);
  *later = CsvProblems();
}

std::string CsvProblems::TextOf(const Problem& problem) {
  const CsvReason& reason = problem.reason;
  const std::string column =
      reason.column.empty() ? "" : absl::StrCat("column \"", PrintableLine(reason.column), "\"");
  const std::string advice = reason.advice.empty() ? "" : absl::StrCat("; ", reason.advice);
  int64_t total = problem.uncounted;
  for (const Value& value : problem.values) total += value.count;
  if (total == 1) {
    const Value& value = problem.values[0];
    const std::string likeness = LikenessText(value.text, reason);
    return absl::StrCat("line ", value.line, column.empty() ? "" : ", ", column, ": ",
                        ValueText(reason, value.text), " ", reason.is, likeness.empty() ? "" : ", ",
                        likeness, advice);
  }
  return absl::StrCat(column, column.empty() ? "" : ": ", total,
                      column.empty() ? " lines " : " values ", reason.are, ": ",
                      ValuesText(problem), advice);
}

std::string CsvProblems::ValuesText(const Problem& problem) {
  const CsvReason& reason = problem.reason;
  // Users must check each name. For numbers, some examples are enough.
  const size_t most = reason.names != nullptr ? kNamesShown : kOthersShown;
  std::vector<std::string> shown;
  int64_t more = problem.uncounted;
  for (const Value& value : problem.values) {
    if (shown.size() == most) {
      more += value.count;
      continue;
    }
    std::string times;
    if (value.count > 1) {
      // Values that were not counted may be equal to this one.
      times = problem.uncounted > 0 ? "first on " : absl::StrCat(value.count, " times, first on ");
    }
    const std::string likeness = LikenessText(value.text, reason);
    shown.push_back(absl::StrCat(ValueText(reason, value.text), " (", times, "line ", value.line,
                                 likeness.empty() ? "" : "; ", likeness, ")"));
  }
  if (more > 0) shown.push_back(absl::StrCat("and ", more, " more"));
  return absl::StrJoin(shown, ", ");
}

std::string CsvProblems::FirstText() const {
  const auto& [key, reason, values, uncounted] = problems_.front();
  return TextOf({key, reason, {{values.front().text, values.front().line, 1}}, 0});
}

std::string CsvProblems::Text() const {
  std::vector<std::string> texts = texts_;
  for (const Problem& problem : problems_) texts.push_back(TextOf(problem));
  size_t more = unlisted_.size();
  if (texts.size() > kProblemsShown) {
    more += texts.size() - kProblemsShown;
    texts.resize(kProblemsShown);
  }
  if (!end_.empty()) texts.push_back(end_);
  if (texts.size() == 1) return texts[0];
  std::string all = absl::StrCat(texts.size() + more, " problems:");
  for (size_t i = 0; i < texts.size(); ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ";", " (", i + 1, ") ", texts[i]);
  }
  if (more > 0) absl::StrAppend(&all, "; and ", more, " more");
  return all;
}

}  // namespace cairn::worker
