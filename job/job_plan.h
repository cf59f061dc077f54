#ifndef CAIRN_JOB_JOB_PLAN_H_
#define CAIRN_JOB_JOB_PLAN_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "job/strategy.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::job {

// The job's numbers, with defaults for absent fields. `job` is validated.
struct JobNumbers {
  int64_t batch_size = 32;
  UpdateNumbers updates;
  uint64_t seed = 0;
  bool shuffle = true;
};
JobNumbers ResolveNumbers(const proto::Job& job);
// What happens to a batch whose loss or a gradient is not finite: Job.on_non_finite.
enum class NonFinitePolicy { kReject, kFail, kRollback };
NonFinitePolicy NonFinitePolicyOf(const proto::Job& job);
// The number of ps that should store each snapshot, if there are so many.
int64_t CopiesWanted(const proto::Job& job);

// Fixes everything about a job once its data is counted. InvalidArgument: no examples or not one
// full batch (drop_remainder), more than kTotalBatchesMax batches, or too many validation batches.
absl::StatusOr<proto::JobPlan> MakeJobPlan(const proto::JobRecord& record,
                                           const proto::InspectReply& inspected);

// Checks records read from a journal: their numbers must be such as MakeJobPlan gives. Checksums do
// not suffice, since another program or version may have written the records. DataLoss names the
// job and the number.
absl::Status CheckJournaledRecords(const proto::JobRecord& record,
                                   const std::optional<proto::JobPlan>& plan);

// Whether the job validates at the end of this epoch, counted from the first one that it trains.
bool ValidatesEpoch(const proto::JobPlan& plan, int64_t epoch);

// True if the job clips the norms of updates that combine several batches. Then no process has the
// whole gradient: parameter servers and workers compute the norm together.
bool ClipsUpdateNorms(const proto::JobPlan& plan);

}  // namespace cairn::job

#endif  // CAIRN_JOB_JOB_PLAN_H_
