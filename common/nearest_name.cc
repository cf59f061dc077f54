#include "common/nearest_name.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace cairn {
namespace {

// The optimal string alignment distance. Row i of the table has the distances of a's first i
// characters to each prefix of b. A transposition refers to the row before the last.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0);
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, replaced});
      const bool is_exchange = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchange) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestName(std::string_view name, const std::vector<std::string>& known) {
  // Longer names are not typing errors, and the table's size is proportional to the name's length.
  constexpr size_t kLongest = 256;
  if (name.empty() || name.size() > kLongest) return "";
  const std::string lower = absl::AsciiStrToLower(absl::string_view(name.data(), name.size()));
  std::string nearest;
  // Two errors can turn a short word into any other ("class", "loss"), and a long word may contain
  // a whole other word ("validation_split", "validation_choice"). A candidate that differs in every
  // character is never meant, hence the limit of name.size().
  const size_t errors = name.size() < 6 ? 1 : name.size() < 12 ? 2 : 3;
  size_t limit = std::min(errors + 1, name.size());
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(lower, absl::AsciiStrToLower(candidate));
    if (distance >= limit) continue;
    nearest = candidate;
    limit = distance;
  }
  return nearest;
}

std::string KnownNamesText(std::string_view name, const std::vector<std::string>& known) {
  std::string text;
  const std::string nearest = NearestName(name, known);
  if (!nearest.empty()) text = "did you mean '" + nearest + "'? ";
  text += "known: ";
  for (size_t i = 0; i < known.size(); ++i) text += (i == 0 ? "" : ", ") + known[i];
  return text;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(name, known);
  return nearest.empty() ? "" : absl::StrCat(" (did you mean ", nearest, "?)");
}

}  // namespace cairn
