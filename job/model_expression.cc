#include "job/model_expression.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace cairn::job {
namespace {

constexpr size_t kTextMax = 1000;
constexpr size_t kNameMax = 64;
constexpr int kDepthMax = 16;
constexpr int kCallsMax = 32;
constexpr int64_t kStreamMax = 1000;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<ModelExpression> Parse() {
    CAIRN_ASSIGN_OR_RETURN(ModelExpression expression, ParseExpression(0));
    SkipSpaces();
    if (at_ == text_.size()) return expression;
    return Bad(absl::StrCat("'", std::string(text_.substr(at_, 1)), "' after the expression"));
  }

 private:
  absl::Status Bad(const std::string& problem) const {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text_), "\", character ", at_ + 1, ": ", problem,
                     "; write calls like discriminator(generator(noise(100))) or "
                     "discriminator(data)"));
  }

  void SkipSpaces() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  bool Take(char c) {
    SkipSpaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view TakeWord() {
    SkipSpaces();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  absl::StatusOr<int64_t> TakeNumber(const char* what, int64_t least, int64_t most) {
    SkipSpaces();
    const size_t begin = at_;
    int64_t number = 0;
    const std::string_view word = TakeWord();
    if (absl::SimpleAtoi(absl::string_view(word.data(), word.size()), &number) && number >= least &&
        number <= most) {
      return number;
    }
    at_ = begin;
    return Bad(absl::StrCat(what, " is not a whole number from ", least, " to ", most));
  }

  absl::StatusOr<ModelExpression> ParseExpression(int depth) {
    if (depth > kDepthMax)
      return Bad(absl::StrCat("more than ", kDepthMax, " calls in each other"));
    const std::string name(TakeWord());
    ModelExpression expression;
    if (name == "data") {
      expression.text = name;
      return expression;
    }
    if (name == "noise") return ParseNoise();
    if (!IsModelName(name)) {
      return Bad(name.empty() ? "the name of a model, data or noise(N) is missing"
                              : absl::StrCat("'", name, "' cannot be the name of a model"));
    }
    if (++calls_ > kCallsMax) return Bad(absl::StrCat("more than ", kCallsMax, " calls"));
    expression.kind = ModelExpression::Kind::kCall;
    expression.model = name;
    if (!Take('(')) return Bad(absl::StrCat("'(' is missing after ", name));
    std::vector<std::string> texts;
    do {
      CAIRN_ASSIGN_OR_RETURN(ModelExpression argument, ParseExpression(depth + 1));
      texts.push_back(argument.text);
      expression.arguments.push_back(std::move(argument));
    } while (Take(','));
    if (!Take(')')) return Bad("')' is missing");
    expression.text = absl::StrCat(name, "(", absl::StrJoin(texts, ","), ")");
    return expression;
  }

  absl::StatusOr<ModelExpression> ParseNoise() {
    ModelExpression expression;
    expression.kind = ModelExpression::Kind::kNoise;
    if (!Take('(')) return Bad("'(' is missing after noise");
    CAIRN_ASSIGN_OR_RETURN(expression.size, TakeNumber("the size of noise", 1, kNoiseSizeMax));
    if (Take(',')) {
      CAIRN_ASSIGN_OR_RETURN(expression.stream, TakeNumber("the stream of noise", 0, kStreamMax));
    }
    if (!Take(')')) return Bad("')' is missing");
    expression.text = absl::StrCat("noise(", expression.size);
    if (expression.stream > 0) absl::StrAppend(&expression.text, ",", expression.stream);
    absl::StrAppend(&expression.text, ")");
    return expression;
  }

  const std::string_view text_;
  size_t at_ = 0;
  int calls_ = 0;
};

}  // namespace

absl::StatusOr<ModelExpression> ParseModelExpression(std::string_view text) {
  if (text.size() > kTextMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", text.size(), " characters; at most ", kTextMax, " are allowed"));
  }
  return Parser(text).Parse();
}

bool IsModelName(std::string_view name) {
  if (name.empty() || name.size() > kNameMax) return false;
  if (absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return name != "data" && name != "noise" && name != "labels";
}

}  // namespace cairn::job
