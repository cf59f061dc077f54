// Job files, as `cairn submit` parses them and as the coordinator validates their fields.

#include "absl/status/status.h"
#include "cli/job_file.h"
#include "common/check.h"
#include "coordinator/job_validation.h"
#include "job/job_numbers.h"
#include "job/job_plan.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {

bool RunInput(std::string_view input) {
  const auto job = cli::ParseJobFile(input, "/folder");
  if (!job.ok()) {
    CAIRN_CHECK(absl::IsInvalidArgument(job.status()));
    return false;
  }
  if (!coordinator::ValidateFields(*job).ok()) return false;

  proto::JobRecord record;
  *record.mutable_job() = *job;
  record.set_batches_per_update(job::ResolveNumbers(*job).updates.batches_per_update);
  proto::InspectReply inspected;
  inspected.set_examples(60000);
  inspected.set_validation_examples(10000);
  const auto plan = job::MakeJobPlan(record, inspected);
  if (!plan.ok()) return false;
  CAIRN_CHECK(plan->batch_size() > 0 && plan->batches_per_epoch() > 0 && plan->total_batches() > 0);
  CAIRN_CHECK(plan->total_batches() <= job::kTotalBatchesMax);
  return true;
}

}  // namespace cairn::fuzz
