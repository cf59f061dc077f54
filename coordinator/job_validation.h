#ifndef CAIRN_COORDINATOR_JOB_VALIDATION_H_
#define CAIRN_COORDINATOR_JOB_VALIDATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/job_sizes.h"
#include "job/strategy.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/model.pb.h"

namespace cairn::coordinator {

// A job that passed all checks that need no data.
struct ValidatedJob {
  proto::SubmitRequest request;
  proto::PartitionMap partition;
  int64_t parameters = 0;  // Elements of all variables.
  std::vector<PsSize> sizes;
};

// Validates a job for a cluster of this shape, in which `ps_count` tasks hold parameters, and
// places its variables. A job that names no strategy gets the default of the cluster.
// InvalidArgument starts with the field's path in the job file, and names the value and what it may
// be. Pure function; takes milliseconds for a large model.
absl::StatusOr<ValidatedJob> ValidateJob(proto::SubmitRequest request, int ps_count,
                                         const job::ClusterShape& cluster);

// The checks that need no model: numbers, names, paths.
absl::Status ValidateFields(const proto::Job& job);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOB_VALIDATION_H_
