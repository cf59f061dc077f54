#include "worker/data/csv/csv_value.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace cairn::worker {

std::optional<double> ParseNumber(std::string_view field) {
  constexpr std::string_view kBlanks = " \t";
  const size_t first = field.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::nullopt;
  field = field.substr(first, field.find_last_not_of(kBlanks) - first + 1);
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  double value = 0;
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (stop != end) return std::nullopt;
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  // Too large, or too small: only the former is wrong.
  const double nearest = std::strtod(std::string(field).c_str(), nullptr);
  if (std::isinf(nearest)) return std::nullopt;
  return nearest;
}

std::string QuotedField(std::string_view field) {
  constexpr size_t kShown = 40;
  const std::string shown = absl::CHexEscape(std::string(field.substr(0, kShown)));
  return absl::StrCat("\"", shown, field.size() > kShown ? "..." : "", "\"");
}

}  // namespace cairn::worker
