#ifndef CAIRN_JOB_JOB_PLAN_H_
#define CAIRN_JOB_JOB_PLAN_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::job {

// What a job's fields come to mean when they are absent. `job` was validated.
struct JobNumbers {
  int64_t batch_size = 32;
  bool synchronous = false;
  // Of a synchronous job that does not say: 0, the cluster's workers.
  int64_t batches_per_update = 1;
  int64_t window = -1;
  uint64_t seed = 0;
  bool shuffle = true;
};
JobNumbers ResolveNumbers(const proto::Job& job);
// On how many ps each snapshot should lie, where there are so many.
int64_t CopiesWanted(const proto::Job& job);

// Fixes everything about a job, now that its data were counted. InvalidArgument: no examples, or
// more batches than kTotalBatchesMax, or than anybody validates on.
absl::StatusOr<proto::JobPlan> MakeJobPlan(const proto::JobRecord& record,
                                           const proto::InspectReply& inspected);

// What was read from a journal makes sense: numbers are such as MakeJobPlan gives. Its bytes had
// their checksums; another program, or another version, may still have written them. DataLoss names
// the job and the number.
absl::Status CheckJournalled(const proto::JobRecord& record,
                             const std::optional<proto::JobPlan>& plan);

// True if the job clips the norms of updates that combine several batches. Then no process has the
// whole gradient: parameter servers and workers compute the norm together.
bool ClipsNormsOfUpdates(const proto::JobPlan& plan);

}  // namespace cairn::job

#endif  // CAIRN_JOB_JOB_PLAN_H_
