#include "job/job_numbers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"

namespace cairn::job {
namespace {

constexpr int64_t kWindowMax = 32768;
constexpr int64_t kKeepMax = 1000;
constexpr int64_t kSecondsMax = 10'000'000;
constexpr int64_t kSliceBytesMax = int64_t{1} << 50;

constexpr char kPerUpdate[] = "strategy.parameter_server.batches_per_update";
constexpr char kWindow[] = "strategy.parameter_server.window";

template <typename... Parts>
absl::Status Bad(const char* path, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", parts...));
}

// A number that is not set is valid.
absl::Status CheckRange(const char* path, bool is_said, int64_t value, int64_t smallest,
                        int64_t largest) {
  if (!is_said || (value >= smallest && value <= largest)) return absl::OkStatus();
  return Bad(path, value, " is not from ", smallest, " to ", largest);
}

absl::Status CheckWord(const char* path, const std::string& word,
                       const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return absl::OkStatus();
  return Bad(path, "\"", word, "\" is not one of ", absl::StrJoin(known, ", "),
             DidYouMean(word, known));
}

absl::Status CheckLength(const proto::Job& job) {
  if (!job.has_batch_size())
    return Bad("batch_size", R"(is missing; for example "batch_size": 128)");
  CAIRN_RETURN_IF_ERROR(CheckRange("batch_size", true, job.batch_size(), 1, kBatchSizeMax));
  if (job.has_epochs() == job.has_steps()) {
    return Bad("epochs", job.has_epochs() ? R"(conflicts with "steps"; keep one of them)"
                                          : R"(is missing, and "steps" too; set one of them)");
  }
  CAIRN_RETURN_IF_ERROR(CheckRange("epochs", job.has_epochs(), job.epochs(), 1, kTotalBatchesMax));
  return CheckRange("steps", job.has_steps(), job.steps(), 1, kTotalBatchesMax);
}

absl::Status CheckStrategy(const proto::ParameterServerStrategy& strategy) {
  const std::string mode = strategy.has_mode() ? strategy.mode() : "async";
  CAIRN_RETURN_IF_ERROR(
      CheckWord("strategy.parameter_server.mode", mode, {"async", "sync", "stale"}));
  if (strategy.has_batches_per_update() && mode != "sync") {
    return Bad(kPerUpdate, "is of mode sync only, the mode is ", mode);
  }
  CAIRN_RETURN_IF_ERROR(CheckRange(kPerUpdate, strategy.has_batches_per_update(),
                                   strategy.batches_per_update(), 1, kBatchesPerUpdateMax));
  if (strategy.has_window() && mode != "stale") {
    return Bad(kWindow, "is of mode stale only, the mode is ", mode);
  }
  if (!strategy.has_window() && mode == "stale") {
    return Bad(kWindow, R"(is missing; mode stale needs it, for example "window": 8)");
  }
  return CheckRange(kWindow, strategy.has_window(), strategy.window(), 0, kWindowMax);
}

absl::Status CheckStorage(const proto::Job& job) {
  const proto::CheckpointPolicy& checkpoint = job.checkpoint();
  CAIRN_RETURN_IF_ERROR(CheckRange("checkpoint.every_steps", checkpoint.has_every_steps(),
                                   checkpoint.every_steps(), 1, kTotalBatchesMax));
  CAIRN_RETURN_IF_ERROR(CheckRange("checkpoint.every_epochs", checkpoint.has_every_epochs(),
                                   checkpoint.every_epochs(), 1, kTotalBatchesMax));
  if (checkpoint.has_every_seconds() &&
      !(checkpoint.every_seconds() >= 1 && checkpoint.every_seconds() <= kSecondsMax)) {
    return Bad("checkpoint.every_seconds", checkpoint.every_seconds(), " is not from 1 to ",
               kSecondsMax);
  }
  CAIRN_RETURN_IF_ERROR(
      CheckRange("checkpoint.keep", checkpoint.has_keep(), checkpoint.keep(), 1, kKeepMax));
  CAIRN_RETURN_IF_ERROR(
      CheckRange("checkpoint.copies", checkpoint.has_copies(), checkpoint.copies(), 1, 2));
  CAIRN_RETURN_IF_ERROR(CheckRange("partitioner.min_slice_bytes",
                                   job.partitioner().has_min_slice_bytes(),
                                   job.partitioner().min_slice_bytes(), 1, kSliceBytesMax));
  CAIRN_RETURN_IF_ERROR(
      CheckRange("keep_history", job.has_keep_history(), job.keep_history(), 1, kTotalBatchesMax));
  if (job.has_on_non_finite()) {
    CAIRN_RETURN_IF_ERROR(
        CheckWord("on_non_finite", job.on_non_finite(), {"reject", "fail", "rollback"}));
    if (job.on_non_finite() == "rollback" && job.optimizer().has_learning_rate_schedule()) {
      return Bad("on_non_finite",
                 "rollback halves a constant learning rate, the optimizer has the schedule ",
                 job.optimizer().learning_rate_schedule().name(), "; use one of the two");
    }
  }
  if (!job.has_on_lost_checkpoint()) return absl::OkStatus();
  return CheckWord("on_lost_checkpoint", job.on_lost_checkpoint(), {"restart", "fail"});
}

}  // namespace

absl::Status ValidateJobLimits(const proto::Job& job) {
  CAIRN_RETURN_IF_ERROR(CheckLength(job));
  CAIRN_RETURN_IF_ERROR(CheckStrategy(job.strategy().parameter_server()));
  return CheckStorage(job);
}

}  // namespace cairn::job
