#include "coordinator/job_difference.h"

#include <google/protobuf/util/message_differencer.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace cairn::coordinator {
namespace {

// A longer list helps no reader.
constexpr size_t kLinesMax = 12;

std::vector<std::string> Lines(const google::protobuf::Message& before,
                               const google::protobuf::Message& after, const std::string& prefix) {
  std::string report;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&report);
  differencer.Compare(before, after);
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(report, '\n', absl::SkipEmpty())) {
    absl::ConsumePrefix(&line, "modified: ");
    // Named as in job files, where a schedule stands in the place of the rate.
    const std::string said =
        absl::StrReplaceAll(line, {{"learning_rate_schedule", "learning_rate"}});
    lines.push_back(absl::StrCat(prefix, said));
  }
  return lines;
}

}  // namespace

std::string JobDifference(const proto::Job& old_job, const proto::ModelSpec& old_model,
                          const proto::Job& new_job, const proto::ModelSpec& new_model) {
  std::vector<std::string> lines = Lines(old_job, new_job, "");
  for (std::string& line : Lines(old_model, new_model, "the model's ")) {
    lines.push_back(std::move(line));
  }
  const size_t count = lines.size();
  if (count > kLinesMax) {
    lines.resize(kLinesMax);
    lines.push_back(absl::StrCat("and ", count - kLinesMax, " more"));
  }
  return absl::StrJoin(lines, "; ");
}

}  // namespace cairn::coordinator
