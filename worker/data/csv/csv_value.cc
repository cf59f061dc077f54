#include "worker/data/csv/csv_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/printable.h"

namespace cairn::worker {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

constexpr size_t kShortDigitsMax = 15;
constexpr double kPowersOfTen[kShortDigitsMax + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// Parses numbers with few digits and no exponent, which most numbers in files are. Their digits and
// the power of ten are exact doubles, so the quotient is the nearest double (Clinger, "How to Read
// Floating Point Numbers Accurately", 1990). False for other numbers.
bool ParseShort(std::string_view field, double* value) {
  const bool negative = !field.empty() && field[0] == '-';
  if (negative) field.remove_prefix(1);
  if (field.size() > kShortDigitsMax + 1) return false;
  int64_t digits = 0;
  size_t whole = field.size();  // Characters before the point.
  for (size_t i = 0; i < field.size(); ++i) {
    const unsigned digit = static_cast<unsigned char>(field[i]) - unsigned{'0'};
    if (digit <= 9) {
      digits = 10 * digits + digit;
    } else if (field[i] == '.' && whole == field.size()) {
      whole = i;
    } else {
      return false;
    }
  }
  const size_t decimals = whole < field.size() ? field.size() - whole - 1 : 0;
  if (whole + decimals == 0 || whole + decimals > kShortDigitsMax) return false;
  const double size = static_cast<double>(digits) / kPowersOfTen[decimals];
  *value = negative ? -size : size;
  return true;
}

}  // namespace

std::optional<double> ParseNumber(std::string_view field) {
  double value = 0;
  if (ParseShort(field, &value)) return value;
  while (!field.empty() && IsBlank(field.front())) field.remove_prefix(1);
  while (!field.empty() && IsBlank(field.back())) field.remove_suffix(1);
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (stop != end) return std::nullopt;
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  // Too large or too small. Only the former is an error.
  const double nearest = std::strtod(std::string(field).c_str(), nullptr);
  if (std::isinf(nearest)) return std::nullopt;
  return nearest;
}

std::string WithDecimalPoint(std::string_view field) {
  const absl::string_view bare =
      absl::StripAsciiWhitespace(absl::string_view(field.data(), field.size()));
  const size_t comma = bare.find(',');
  const bool has_digits_around = comma != absl::string_view::npos && comma > 0 &&
                                 comma + 1 < bare.size() && absl::ascii_isdigit(bare[comma - 1]) &&
                                 absl::ascii_isdigit(bare[comma + 1]);
  if (!has_digits_around) return "";
  // Points before the comma separate thousands.
  const std::string text = absl::StrCat(absl::StrReplaceAll(bare.substr(0, comma), {{".", ""}}),
                                        ".", bare.substr(comma + 1));
  return ParseNumber(text) ? text : "";
}

std::string QuotedField(std::string_view field) {
  constexpr size_t kShown = 40;
  size_t end = std::min(field.size(), kShown);
  // Not within a UTF-8 character.
  while (end > 0 && end < field.size() && (field[end] & 0xc0) == 0x80) --end;
  return absl::StrCat("\"", PrintableLine(field.substr(0, end)), end < field.size() ? "..." : "",
                      "\"");
}

}  // namespace cairn::worker
