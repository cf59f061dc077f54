#include "coordinator/job_plan.h"

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {

JobNumbers ResolveNumbers(const proto::Job& job) {
  JobNumbers numbers;
  if (job.has_batch_size()) numbers.batch_size = job.batch_size();
  if (job.has_seed()) numbers.seed = job.seed();
  if (job.has_shuffle()) numbers.shuffle = job.shuffle();
  const proto::ParameterServerStrategy& strategy = job.strategy().parameter_server();
  if (strategy.mode() == "sync") {
    numbers.synchronous = true;
    numbers.batches_per_update = strategy.batches_per_update();
    numbers.window = 0;
  } else if (strategy.mode() == "stale") {
    numbers.window = strategy.window();
  }
  return numbers;
}

absl::StatusOr<proto::JobPlan> MakeJobPlan(const proto::JobRecord& record,
                                           const proto::InspectReply& inspected) {
  const proto::Job& job = record.job();
  if (inspected.examples() < 1) {
    return absl::InvalidArgumentError("train: there are no examples in the data");
  }
  const bool validates = job.has_validation() || job.has_validation_fraction();
  if (validates && inspected.validation_examples() < 1) {
    return absl::InvalidArgumentError("validation: there are no examples in the data");
  }
  const JobNumbers numbers = ResolveNumbers(job);
  const int64_t per_epoch =
      inspected.examples() / numbers.batch_size + (inspected.examples() % numbers.batch_size != 0);
  const int64_t epochs_max = kTotalBatchesMax / per_epoch;
  if (!job.has_steps() && job.epochs() > epochs_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("epochs: ", job.epochs(), " epochs of ", per_epoch, " batches are more than ",
                     kTotalBatchesMax, " batches; say at most ", epochs_max));
  }
  proto::JobPlan plan;
  plan.set_job_id(record.job_id());
  *plan.mutable_job() = job;
  *plan.mutable_model() = record.model();
  *plan.mutable_partition() = record.partition();
  plan.set_weights_uploaded(record.weights_follow());
  plan.set_examples(inspected.examples());
  plan.set_validation_examples(validates ? inspected.validation_examples() : 0);
  plan.set_batch_size(numbers.batch_size);
  plan.set_batches_per_epoch(per_epoch);
  plan.set_total_batches(job.has_steps() ? job.steps() : job.epochs() * per_epoch);
  plan.set_synchronous(numbers.synchronous);
  plan.set_batches_per_update(record.batches_per_update());
  plan.set_window(numbers.window);
  plan.set_seed(numbers.seed);
  plan.set_shuffle(numbers.shuffle);
  *plan.mutable_data() = inspected.data();
  return plan;
}

}  // namespace cairn::coordinator
