#include "job/job_plan.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/callback_kinds.h"
#include "job/field_checks.h"
#include "job/job_numbers.h"

namespace cairn::job {
namespace {

// More than any cluster has.
constexpr int64_t kPsMax = int64_t{1} << 16;
// An evaluation keeps the results of each batch.
constexpr int64_t kValidationBatchesMax = int64_t{1} << 24;

int64_t BatchesOf(int64_t examples, int64_t batch_size) {
  return examples / batch_size + (examples % batch_size != 0);
}

absl::Status CheckBatches(const char* path, int64_t examples, int64_t batch_size, int64_t most) {
  if (examples < 1) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": there are no examples in the data"));
  }
  if (BatchesOf(examples, batch_size) <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", examples, " examples in batches of ",
                                                 batch_size, " are more than ", most,
                                                 " batches; set a larger batch_size"));
}

// The batches of one pass over the training data. `per_update`: of an update.
absl::StatusOr<int64_t> CountPass(const proto::Job& job, int64_t examples, int64_t batch_size,
                                  int64_t per_update) {
  if (!job.train().drop_remainder()) return BatchesOf(examples, batch_size);
  const int64_t batches = examples / batch_size / per_update * per_update;
  if (batches > 0) return batches;
  return BadField("train.drop_remainder", examples, " examples are fewer than one ",
                  per_update > 1 ? absl::StrCat("update of ", per_update, " batches") : "batch",
                  " of ", batch_size, ", and nothing would be left; set a smaller batch_size");
}

}  // namespace

JobNumbers ResolveNumbers(const proto::Job& job) {
  JobNumbers numbers;
  if (job.has_batch_size()) numbers.batch_size = job.batch_size();
  if (job.has_seed()) numbers.seed = job.seed();
  if (job.has_shuffle()) numbers.shuffle = job.shuffle();
  numbers.updates = UpdateNumbersOf(job.strategy());
  return numbers;
}

int64_t CopiesWanted(const proto::Job& job) {
  return job.checkpoint().has_copies() ? job.checkpoint().copies() : 2;
}

NonFinitePolicy NonFinitePolicyOf(const proto::Job& job) {
  if (job.on_non_finite() == "fail") return NonFinitePolicy::kFail;
  if (job.on_non_finite() == "rollback") return NonFinitePolicy::kRollback;
  return NonFinitePolicy::kReject;
}

absl::StatusOr<proto::JobPlan> MakeJobPlan(const proto::JobRecord& record,
                                           const proto::InspectReply& inspected) {
  const proto::Job& job = record.job();
  const bool validates = job.has_validation() || job.has_validation_fraction();
  const JobNumbers numbers = ResolveNumbers(job);
  CAIRN_RETURN_IF_ERROR(
      CheckBatches("train", inspected.examples(), numbers.batch_size, kTotalBatchesMax));
  if (validates) {
    CAIRN_RETURN_IF_ERROR(CheckBatches("validation", inspected.validation_examples(),
                                       numbers.batch_size, kValidationBatchesMax));
  }
  const int64_t per_update =
      numbers.updates.synchronous ? std::max<int64_t>(1, record.batches_per_update()) : 1;
  CAIRN_ASSIGN_OR_RETURN(const int64_t per_pass,
                         CountPass(job, inspected.examples(), numbers.batch_size, per_update));
  const int64_t per_epoch = job.has_steps_per_epoch() ? job.steps_per_epoch() : per_pass;
  const int64_t epochs_max = kTotalBatchesMax / per_epoch;
  const int64_t epochs = job.epochs() - job.initial_epoch();
  if (!job.has_steps() && epochs > epochs_max) {
    return absl::InvalidArgumentError(absl::StrCat("epochs: ", epochs, " epochs of ", per_epoch,
                                                   " batches are more than ", kTotalBatchesMax,
                                                   " batches; set at most ", epochs_max));
  }
  const int64_t total = job.has_steps() ? job.steps() : epochs * per_epoch;
  for (int i = 0; i < job.callbacks_size(); ++i) {
    if (!IsCallback(job.callbacks(i).name(), "learning_rate_scheduler")) continue;
    if (total / per_epoch <= kScheduledEpochsMax) continue;
    return BadField(absl::StrCat("callbacks[", i, "]"), "the job has ", total / per_epoch,
                    " epochs; learning_rate_scheduler is for at most ", kScheduledEpochsMax);
  }
  // Only what the job says: the default is the size of the cluster, which may be larger.
  if (numbers.updates.batches_per_update > total) {
    return BadField(absl::StrCat("strategy.", StrategyName(job.strategy()), ".batches_per_update"),
                    numbers.updates.batches_per_update, " is more than the job's ", total,
                    " batches: no update would be complete");
  }
  proto::JobPlan plan;
  plan.set_job_id(record.job_id());
  *plan.mutable_job() = job;
  *plan.mutable_model() = record.model();
  *plan.mutable_partition() = record.partition();
  plan.set_weights_uploaded(record.uploads_weights());
  plan.set_examples(inspected.examples());
  plan.set_validation_examples(validates ? inspected.validation_examples() : 0);
  // The check above bounds the product.
  if (job.has_validation_steps() &&
      job.validation_steps() < BatchesOf(plan.validation_examples(), numbers.batch_size)) {
    plan.set_validation_examples(job.validation_steps() * numbers.batch_size);
  }
  plan.set_batch_size(numbers.batch_size);
  plan.set_batches_per_epoch(per_epoch);
  plan.set_batches_per_pass(per_pass);
  plan.set_total_batches(total);
  plan.set_synchronous(numbers.updates.synchronous);
  plan.set_batches_per_update(record.batches_per_update());
  plan.set_window(numbers.updates.window);
  plan.set_seed(numbers.seed);
  plan.set_shuffle(numbers.shuffle);
  *plan.mutable_data() = inspected.data();
  return plan;
}

absl::Status CheckJournaledRecords(const proto::JobRecord& record,
                                   const std::optional<proto::JobPlan>& plan) {
  struct Number {
    const char* name;
    int64_t value;
    int64_t smallest;
    int64_t largest;
  };
  std::vector<Number> numbers = {{"partition.ps_count", record.partition().ps_count(), 1, kPsMax}};
  if (plan.has_value()) {
    // The number of ps may have changed; the blocks stay the same.
    const int64_t blocks = record.partition().blocks_size();
    const int64_t total = plan->total_batches();
    const int64_t synchronous = plan->synchronous() ? 1 : 0;
    numbers.insert(numbers.end(),
                   {{"plan.job_id", static_cast<int64_t>(plan->job_id() - record.job_id()), 0, 0},
                    {"plan.partition.ps_count", plan->partition().ps_count(), 1, kPsMax},
                    {"plan.partition.blocks", plan->partition().blocks_size(), blocks, blocks},
                    {"plan.batch_size", plan->batch_size(), 1, INT32_MAX},
                    {"plan.total_batches", total, 1, kTotalBatchesMax},
                    {"plan.batches_per_epoch", plan->batches_per_epoch(), 1, kTotalBatchesMax},
                    {"plan.batches_per_pass", plan->batches_per_pass(), 0, kTotalBatchesMax},
                    {"plan.batches_per_update", plan->batches_per_update(), 1,
                     synchronous ? kBatchesPerUpdateMax : 1},
                    {"plan.validation_examples", plan->validation_examples(), 0,
                     kValidationBatchesMax * std::max<int64_t>(1, plan->batch_size())},
                    {"plan.window", plan->window(), synchronous - 1, synchronous ? 0 : INT32_MAX}});
  }
  for (const Number& number : numbers) {
    if (number.value >= number.smallest && number.value <= number.largest) continue;
    return absl::DataLossError(absl::StrCat(
        "the journal's records of job ", record.job_id(), " make no sense: ", number.name, " is ",
        number.value, ", not between ", number.smallest, " and ", number.largest));
  }
  return absl::OkStatus();
}

bool ValidatesEpoch(const proto::JobPlan& plan, int64_t epoch) {
  if (plan.validation_examples() == 0) return false;
  const proto::Job& job = plan.job();
  const int64_t number = job.initial_epoch() + epoch + 1;
  const auto& epochs = job.validation_freq_epochs();
  if (!epochs.empty()) return std::find(epochs.begin(), epochs.end(), number) != epochs.end();
  return number % std::max<int64_t>(1, job.validation_freq()) == 0;
}

bool ClipsUpdateNorms(const proto::JobPlan& plan) {
  const proto::Optimizer& optimizer = plan.job().optimizer();
  return plan.synchronous() && plan.batches_per_update() > 1 &&
         (optimizer.has_clipnorm() || optimizer.has_global_clipnorm());
}

}  // namespace cairn::job
