#include "common/job_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace cairn {
namespace {

constexpr size_t kLongest = 128;

bool IsClean(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.'; }

}  // namespace

absl::Status CheckJobName(const std::string& name) {
  if (name.empty()) {
    return absl::InvalidArgumentError(R"(name: is missing; for example "name": "mnist")");
  }
  const bool is_clean = std::all_of(name.begin(), name.end(), IsClean);
  if (!is_clean || name.size() > kLongest || name.front() == '-' || name.front() == '.') {
    return absl::InvalidArgumentError(
        absl::StrCat("name: \"", name.substr(0, kLongest), "\" is not made of at most ", kLongest,
                     " letters, digits, '_', '-' and '.', beginning with none of the last two"));
  }
  if (std::all_of(name.begin(), name.end(), absl::ascii_isdigit)) {
    return absl::InvalidArgumentError(
        absl::StrCat("name: \"", name, "\" has digits only and would be taken for an id"));
  }
  return absl::OkStatus();
}

}  // namespace cairn
