#ifndef CAIRN_JOB_FIELD_CHECKS_H_
#define CAIRN_JOB_FIELD_CHECKS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/nearest_name.h"

namespace cairn::job {

// Checks of single fields of a job. InvalidArgument starts with the field's path in the job file.

template <typename... Parts>
absl::Status BadField(absl::string_view path, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", parts...));
}

// A number that is not set is valid.
inline absl::Status CheckRange(absl::string_view path, bool is_said, int64_t value,
                               int64_t smallest, int64_t largest) {
  if (!is_said || (value >= smallest && value <= largest)) return absl::OkStatus();
  return BadField(path, value, " is not from ", smallest, " to ", largest);
}

inline absl::Status CheckWord(absl::string_view path, const std::string& word,
                              const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return absl::OkStatus();
  return BadField(path, "\"", word, "\" is not one of ", absl::StrJoin(known, ", "),
                  DidYouMean(word, known));
}

}  // namespace cairn::job

#endif  // CAIRN_JOB_FIELD_CHECKS_H_
