#include "common/json_error_text.h"

#include <regex>
#include <string_view>

namespace cairn {
namespace {

// Truncates the quoted input, which may be a whole file.
std::string Shortened(std::string text) {
  constexpr std::string_view kBefore = "last read: '";
  constexpr size_t kLongest = 60;
  const size_t before = text.find(kBefore);
  if (before == std::string::npos) return text;
  const size_t longest_end = before + kBefore.size() + kLongest;
  const size_t expected = text.rfind("'; expected ");
  const size_t end = expected == std::string::npos ? text.size() - 1 : expected;
  return end > longest_end ? text.replace(longest_end, end - longest_end, "...") : text;
}

}  // namespace

std::string JsonErrorText(const std::string& what) {
  // Example: "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while
  // parsing object key - invalid literal; last read: '{a'; expected string literal".
  static const auto& empty = *new std::regex(R"(line 1, column 1: .*unexpected end of input)");
  static const auto& label = *new std::regex(R"(^\[[^\]]*\] (parse error at )?)");
  static const auto& grammar = *new std::regex(R"(: syntax error while parsing [^-]*- )");
  const std::string text = Shortened(what);
  if (std::regex_search(text, empty)) return "it is empty";
  return std::regex_replace(std::regex_replace(text, label, ""), grammar, ": ");
}

}  // namespace cairn
