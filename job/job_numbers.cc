#include "job/job_numbers.h"

#include <utility>

#include "common/status_macros.h"
#include "job/field_checks.h"
#include "job/partitioner.h"
#include "job/strategy.h"
#include "nn/precision.h"

namespace cairn::job {
namespace {

constexpr int64_t kKeepMax = 1000;
constexpr int64_t kSecondsMax = 10'000'000;

absl::Status CheckLength(const proto::Job& job) {
  if (!job.has_batch_size())
    return BadField("batch_size", R"(is missing; for example "batch_size": 128)");
  CAIRN_RETURN_IF_ERROR(CheckRange("batch_size", true, job.batch_size(), 1, kBatchSizeMax));
  if (job.has_epochs() == job.has_steps()) {
    return BadField("epochs", job.has_epochs() ? R"(conflicts with "steps"; keep one of them)"
                                               : R"(is missing, and "steps" too; set one of them)");
  }
  CAIRN_RETURN_IF_ERROR(CheckRange("epochs", job.has_epochs(), job.epochs(), 1, kTotalBatchesMax));
  CAIRN_RETURN_IF_ERROR(CheckRange("steps", job.has_steps(), job.steps(), 1, kTotalBatchesMax));
  return CheckRange("steps_per_epoch", job.has_steps_per_epoch(), job.steps_per_epoch(), 1,
                    kTotalBatchesMax);
}

absl::Status CheckInitialEpoch(const proto::Job& job) {
  if (!job.has_initial_epoch()) return absl::OkStatus();
  if (job.has_steps()) {
    return BadField("initial_epoch", "is for jobs with \"epochs\", and this one has \"steps\"");
  }
  if (job.initial_epoch() >= 0 && job.initial_epoch() < job.epochs()) return absl::OkStatus();
  return BadField("initial_epoch", job.initial_epoch(), " is not from 0 to ", job.epochs() - 1,
                  ": epochs are numbered from 0, and the last is \"epochs\" - 1");
}

// When and on how much the job validates.
absl::Status CheckValidation(const proto::Job& job) {
  const bool validates = job.has_validation() || job.has_validation_fraction();
  const bool has_freq = job.has_validation_freq() || !job.validation_freq_epochs().empty();
  for (const auto& [field, is_said] : {std::pair("validation_steps", job.has_validation_steps()),
                                       std::pair("validation_freq", has_freq)}) {
    if (is_said && !validates) {
      return BadField(field, "has no meaning without \"validation\" or \"validation_fraction\"");
    }
  }
  CAIRN_RETURN_IF_ERROR(CheckRange("validation_steps", job.has_validation_steps(),
                                   job.validation_steps(), 1, kTotalBatchesMax));
  for (int i = 0; i < job.validation_freq_epochs_size(); ++i) {
    CAIRN_RETURN_IF_ERROR(CheckRange(absl::StrCat("validation_freq[", i, "]"), true,
                                     job.validation_freq_epochs(i), 1, kTotalBatchesMax));
  }
  return CheckRange("validation_freq", job.has_validation_freq(), job.validation_freq(), 1,
                    kTotalBatchesMax);
}

absl::Status CheckStorage(const proto::Job& job) {
  const proto::CheckpointPolicy& checkpoint = job.checkpoint();
  CAIRN_RETURN_IF_ERROR(CheckRange("checkpoint.every_steps", checkpoint.has_every_steps(),
                                   checkpoint.every_steps(), 1, kTotalBatchesMax));
  CAIRN_RETURN_IF_ERROR(CheckRange("checkpoint.every_epochs", checkpoint.has_every_epochs(),
                                   checkpoint.every_epochs(), 1, kTotalBatchesMax));
  if (checkpoint.has_every_seconds() &&
      !(checkpoint.every_seconds() >= 1 && checkpoint.every_seconds() <= kSecondsMax)) {
    return BadField("checkpoint.every_seconds", checkpoint.every_seconds(), " is not from 1 to ",
                    kSecondsMax);
  }
  CAIRN_RETURN_IF_ERROR(
      CheckRange("checkpoint.keep", checkpoint.has_keep(), checkpoint.keep(), 1, kKeepMax));
  CAIRN_RETURN_IF_ERROR(
      CheckRange("checkpoint.copies", checkpoint.has_copies(), checkpoint.copies(), 1, 2));
  CAIRN_RETURN_IF_ERROR(CheckPartitioner(job.partitioner()));
  CAIRN_RETURN_IF_ERROR(
      CheckRange("keep_history", job.has_keep_history(), job.keep_history(), 1, kTotalBatchesMax));
  if (job.has_precision()) {
    CAIRN_RETURN_IF_ERROR(CheckWord("precision", job.precision(), nn::PrecisionWords()));
  }
  if (job.has_on_non_finite()) {
    CAIRN_RETURN_IF_ERROR(
        CheckWord("on_non_finite", job.on_non_finite(), {"reject", "fail", "rollback"}));
    if (job.on_non_finite() == "rollback" && job.optimizer().has_learning_rate_schedule()) {
      return BadField("on_non_finite",
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
  CAIRN_RETURN_IF_ERROR(CheckInitialEpoch(job));
  CAIRN_RETURN_IF_ERROR(CheckValidation(job));
  CAIRN_RETURN_IF_ERROR(CheckStrategy(job.strategy()));
  return CheckStorage(job);
}

}  // namespace cairn::job
