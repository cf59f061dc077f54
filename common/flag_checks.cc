#include "common/flag_checks.h"

#include <cmath>
#include <regex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace cairn {

FlagCheck WholeNumber(int64_t least, int64_t most) {
  return [least, most](const std::string& text) -> std::string {
    int64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) return "";
    return absl::StrCat("\"", text, "\" is not a whole number from ", least, " to ", most);
  };
}

FlagCheck Number(double least, double most) {
  return [least, most](const std::string& text) -> std::string {
    double value = 0;
    if (absl::SimpleAtod(text, &value) && value >= least && value <= most) return "";
    return absl::StrCat("\"", text, "\" is not a number from ", least, " to ", most);
  };
}

FlagCheck Number() {
  return [](const std::string& text) -> std::string {
    double value = 0;
    if (absl::SimpleAtod(text, &value) && std::isfinite(value)) return "";
    return absl::StrCat("\"", text, "\" is not a finite number");
  };
}

FlagCheck NotEmpty(bool is_required) {
  return [is_required](const std::string& text) -> std::string {
    if (text.starts_with("--")) return absl::StrCat("needs a value; ", text, " is a flag");
    if (!text.empty()) return "";
    return is_required ? "is empty; give a value" : "is empty; give a value, or leave it out";
  };
}

std::string FlagErrorText(const std::string& message) {
  static const auto& missing = *new std::regex(R"((-\S+): 1 required \S+ missing)");
  static const auto& repeated = *new std::regex(R"((-\S+): At Most 1 required but received (\d+))");
  static const auto& excluded = *new std::regex(R"((-\S+) excludes (-\S+))");
  std::smatch names;
  if (!std::regex_match(message, names, excluded)) {
    const std::string text = absl::StrReplaceAll(message, {{": needs a value", " needs a value"}});
    return std::regex_replace(std::regex_replace(text, missing, "$1 needs a value"), repeated,
                              "$1 is given $2 times; give it once");
  }
  // CLI11 names the two flags in arbitrary order; sort them to keep the message stable.
  std::string first = names.str(1), second = names.str(2);
  if (second < first) std::swap(first, second);
  return absl::StrCat(first, " and ", second, " exclude each other; give only one");
}

}  // namespace cairn
