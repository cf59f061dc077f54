#ifndef CAIRN_CLI_JOB_SOURCE_H_
#define CAIRN_CLI_JOB_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cluster/variable_transfer.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// The source of information for read-only commands: a cluster, or a state directory whose cluster
// is down. Jobs are identified by id or name; a name refers to its newest job. NotFound: no such
// job. Not thread-safe.
class JobSource {
 public:
  virtual ~JobSource() = default;

  // Oldest first.
  virtual absl::StatusOr<std::vector<proto::JobStatus>> ListJobs() = 0;
  virtual absl::StatusOr<proto::JobStatus> GetJob(const std::string& job) = 0;
  // FailedPrecondition: the job has not started.
  virtual absl::StatusOr<proto::JobPlan> GetPlan(const std::string& job) = 0;
  // Calls `visit` with consecutive chunks of the history. Batches are in order.
  virtual absl::Status ReadHistory(const std::string& job,
                                   absl::FunctionRef<void(const proto::HistoryChunk&)> visit) = 0;
  virtual absl::StatusOr<proto::CheckpointList> ListCheckpoints(const std::string& job) = 0;

  // The values of a checkpoint, for each variable of plan.partition.
  virtual absl::StatusOr<std::vector<std::vector<float>>> ReadVariables(
      const proto::JobPlan& plan, const proto::Manifest& checkpoint) = 0;
  // The same, with the states of the optimizer.
  virtual absl::StatusOr<std::vector<cluster::VariableState>> ReadStates(
      const proto::JobPlan& plan, const proto::Manifest& checkpoint) = 0;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_JOB_SOURCE_H_
