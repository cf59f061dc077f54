#include "job/data_formats/row_filter.h"

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"
#include "common/status_macros.h"

namespace cairn::job {
namespace {

constexpr size_t kTextMax = 100000;
constexpr size_t kNumberMax = 40;
constexpr int kDepthMax = 64;

bool IsWordCharacter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return absl::ascii_isalnum(byte) || c == '_' || byte >= 0x80;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<RowFilter> Parse() {
    if (text_.size() > kTextMax) {
      return absl::InvalidArgumentError(absl::StrCat("has more than ", kTextMax, " characters"));
    }
    CAIRN_ASSIGN_OR_RETURN(RowFilter filter, ParseOr(0));
    SkipSpaces();
    if (at_ == text_.size()) return filter;
    return Bad("expected \"and\", \"or\" or the end");
  }

 private:
  absl::Status Bad(const std::string& problem) const {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", PrintableLine(text_.substr(0, 200)), "\", character ", at_ + 1, ": ",
                     problem, "; write conditions like year >= 2026 and country in ('de', 'fr')"));
  }

  void SkipSpaces() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  // The next word, which is not taken; empty if there is none.
  std::string_view Word() {
    SkipSpaces();
    size_t end = at_;
    while (end < text_.size() && IsWordCharacter(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  bool TakeWord(std::string_view wanted) {
    const std::string_view word = Word();
    if (!absl::EqualsIgnoreCase(absl::string_view(word.data(), word.size()),
                                absl::string_view(wanted.data(), wanted.size()))) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  bool Take(std::string_view sign) {
    SkipSpaces();
    if (text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }

  // A name or text in quotes, of which the first one is the next character.
  absl::StatusOr<std::string> TakeQuoted(char quote) {
    std::string result;
    for (size_t i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] == '\0') break;
      if (text_[i] != quote) {
        result += text_[i];
      } else if (i + 1 < text_.size() && text_[i + 1] == quote) {
        result += text_[i++];
      } else {
        at_ = i + 1;
        return result;
      }
    }
    return Bad("the quote has no end");
  }

  absl::StatusOr<RowFilter> ParseOr(int depth) {
    return ParseSeries(depth, RowFilter::Kind::kOr, "or", &Parser::ParseAnd);
  }

  absl::StatusOr<RowFilter> ParseAnd(int depth) {
    return ParseSeries(depth, RowFilter::Kind::kAnd, "and", &Parser::ParseTerm);
  }

  absl::StatusOr<RowFilter> ParseSeries(int depth, RowFilter::Kind kind, const char* word,
                                        absl::StatusOr<RowFilter> (Parser::*parse)(int)) {
    CAIRN_ASSIGN_OR_RETURN(RowFilter first, (this->*parse)(depth));
    RowFilter series;
    series.kind = kind;
    series.terms.push_back(std::move(first));
    while (TakeWord(word)) {
      CAIRN_ASSIGN_OR_RETURN(series.terms.emplace_back(), (this->*parse)(depth));
    }
    if (series.terms.size() > 1) return series;
    RowFilter only = std::move(series.terms[0]);
    return only;
  }

  absl::StatusOr<RowFilter> ParseTerm(int depth) {
    if (depth > kDepthMax) return Bad(absl::StrCat("more than ", kDepthMax, " nested conditions"));
    if (TakeWord("not")) {
      CAIRN_ASSIGN_OR_RETURN(RowFilter term, ParseTerm(depth + 1));
      return Not(std::move(term));
    }
    if (Take("(")) {
      CAIRN_ASSIGN_OR_RETURN(RowFilter inner, ParseOr(depth + 1));
      if (!Take(")")) return Bad("expected \")\"");
      return inner;
    }
    return ParseCondition();
  }

  static RowFilter Not(RowFilter term) {
    RowFilter filter;
    filter.kind = RowFilter::Kind::kNot;
    filter.terms.push_back(std::move(term));
    return filter;
  }

  absl::StatusOr<RowFilter> ParseCondition() {
    RowFilter filter;
    CAIRN_ASSIGN_OR_RETURN(filter.column, TakeColumn());
    if (TakeWord("is")) {
      const bool is_not = TakeWord("not");
      if (!TakeWord("null")) return Bad("expected \"null\"");
      filter.kind = RowFilter::Kind::kIsNull;
      return is_not ? Not(std::move(filter)) : filter;
    }
    const bool is_not = TakeWord("not");
    if (TakeWord("in")) {
      filter.kind = RowFilter::Kind::kIn;
      if (!Take("(")) return Bad("expected \"(\" and the values");
      do {
        CAIRN_ASSIGN_OR_RETURN(filter.values.emplace_back(), TakeValue());
      } while (Take(","));
      if (!Take(")")) return Bad("expected \",\" or \")\"");
      return is_not ? Not(std::move(filter)) : filter;
    }
    if (is_not) return Bad("expected \"in\"");
    filter.kind = RowFilter::Kind::kCompare;
    constexpr std::array<std::pair<const char*, const char*>, 8> kComparisons = {{{"==", "="},
                                                                                  {"!=", "<>"},
                                                                                  {"<>", "<>"},
                                                                                  {"<=", "<="},
                                                                                  {">=", ">="},
                                                                                  {"=", "="},
                                                                                  {"<", "<"},
                                                                                  {">", ">"}}};
    for (const auto& [sign, meaning] : kComparisons) {
      if (!Take(sign)) continue;
      filter.comparison = meaning;
      CAIRN_ASSIGN_OR_RETURN(filter.values.emplace_back(), TakeValue());
      return filter;
    }
    return Bad("expected one of = != < <= > >=, in, is null");
  }

  absl::StatusOr<std::string> TakeColumn() {
    SkipSpaces();
    if (at_ < text_.size() && text_[at_] == '"') {
      CAIRN_ASSIGN_OR_RETURN(const std::string name, TakeQuoted('"'));
      if (name.empty()) return Bad("the name of the column is empty");
      return name;
    }
    const std::string name(Word());
    for (const char* const reserved : {"and", "or", "not", "in", "is", "null"}) {
      if (absl::EqualsIgnoreCase(name, reserved)) {
        return Bad("expected a column; put its name into double quotes");
      }
    }
    if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) {
      return Bad("expected a column");
    }
    at_ += name.size();
    return name;
  }

  absl::StatusOr<RowFilter::Value> TakeValue() {
    SkipSpaces();
    RowFilter::Value value;
    if (at_ < text_.size() && text_[at_] == '\'') {
      value.is_text = true;
      CAIRN_ASSIGN_OR_RETURN(value.text, TakeQuoted('\''));
      return value;
    }
    for (const char* const word : {"true", "false"}) {
      value.text = word;
      if (TakeWord(word)) return value;
    }
    size_t end = at_;
    while (end < text_.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text_[end])) ||
                                  absl::StrContains("+-.", absl::string_view(&text_[end], 1)))) {
      ++end;
    }
    value.text = text_.substr(at_, end - at_);
    double number = 0;
    // Neither nan nor 0x10.
    const bool is_plain = value.text.find_first_not_of("0123456789+-.eE") == std::string::npos &&
                          value.text.find_first_of("0123456789") != std::string::npos;
    if (is_plain && value.text.size() <= kNumberMax && absl::SimpleAtod(value.text, &number)) {
      at_ = end;
      return value;
    }
    return Bad("expected a number, a text in single quotes, true or false");
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<RowFilter> ParseRowFilter(std::string_view text) { return Parser(text).Parse(); }

}  // namespace cairn::job
