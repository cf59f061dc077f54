#include "job/job_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/printable.h"

namespace cairn::job {
namespace {

constexpr size_t kLongest = 128;

bool IsClean(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.'; }

// Truncates long names.
std::string Quoted(const std::string& name) {
  if (name.size() <= kLongest) return absl::StrCat("\"", PrintableLine(name), "\"");
  return absl::StrCat("\"", PrintableLine(name.substr(0, kLongest)), "...\" (", name.size(),
                      " characters)");
}

}  // namespace

absl::Status CheckJobName(const std::string& name) {
  if (name.empty()) {
    return absl::InvalidArgumentError(R"(name: is missing or empty; for example "name": "mnist")");
  }
  const bool is_clean = std::all_of(name.begin(), name.end(), IsClean);
  if (!is_clean || name.size() > kLongest || name.front() == '-' || name.front() == '.') {
    return absl::InvalidArgumentError(
        absl::StrCat("name: ", Quoted(name), " must consist of at most ", kLongest,
                     " letters, digits, '_', '-' and '.', and must not begin with '-' or '.'"));
  }
  if (std::all_of(name.begin(), name.end(), absl::ascii_isdigit)) {
    return absl::InvalidArgumentError(
        absl::StrCat("name: \"", name, "\" consists of digits only, which is an id; add a letter"));
  }
  return absl::OkStatus();
}

}  // namespace cairn::job
