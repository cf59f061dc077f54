#ifndef CAIRN_CLI_JOB_SOURCE_H_
#define CAIRN_CLI_JOB_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// Where commands that only read get their answers: a cluster, or a state directory whose cluster is
// down. Jobs are named by id or name (then the newest of that name). NotFound: no such job.
class JobSource {
 public:
  virtual ~JobSource() = default;

  // Oldest first.
  virtual absl::StatusOr<std::vector<proto::JobStatus>> ListJobs() = 0;
  virtual absl::StatusOr<proto::JobStatus> GetJob(const std::string& job) = 0;
  // FailedPrecondition: the job has not started.
  virtual absl::StatusOr<proto::JobPlan> GetPlan(const std::string& job) = 0;
  // Batches come in order.
  virtual absl::Status ReadHistory(const std::string& job,
                                   absl::FunctionRef<void(const proto::HistoryChunk&)> visit) = 0;
  virtual absl::StatusOr<proto::CheckpointList> ListCheckpoints(const std::string& job) = 0;

  // All values of a checkpoint: for each of plan.partition's variables its elements.
  virtual absl::StatusOr<std::vector<std::vector<float>>> ReadVariables(
      const proto::JobPlan& plan, const proto::Manifest& checkpoint) = 0;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_JOB_SOURCE_H_
