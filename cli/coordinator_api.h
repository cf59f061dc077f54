#ifndef CAIRN_CLI_COORDINATOR_API_H_
#define CAIRN_CLI_COORDINATOR_API_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/coordinator.pb.h"

namespace cairn::cli {

// What `cairn` asks of a coordinator, as blocking calls. Jobs are named by id or name. Unavailable
// names the address that does not answer; other errors are the coordinator's. Thread-safe.
class CoordinatorApi {
 public:
  // What is made of a port on which nobody listens.
  enum class WhenRefused {
    kFail,  // There is no coordinator, which is told at once.
    kWait,  // Somebody starts it, or starts it again: this waits for as long as `patience`.
  };

  // `patience`: how long a coordinator that does not answer is asked again.
  CoordinatorApi(const std::string& address, absl::Duration patience,
                 WhenRefused when_refused = WhenRefused::kFail);
  ~CoordinatorApi();
  CoordinatorApi(const CoordinatorApi&) = delete;
  CoordinatorApi& operator=(const CoordinatorApi&) = delete;

  const std::string& address() const { return address_; }

  // Not repeated unless `request.reuse` makes that harmless.
  absl::StatusOr<proto::SubmitReply> Submit(const proto::SubmitRequest& request);
  absl::StatusOr<proto::JobStatus> CommitWeights(const std::string& job);
  absl::StatusOr<proto::ListJobsReply> ListJobs();
  absl::StatusOr<proto::JobStatus> GetJob(const std::string& job);
  absl::StatusOr<proto::JobStatus> CancelJob(const std::string& job);
  // Not repeated.
  absl::StatusOr<proto::DeleteJobReply> DeleteJob(const std::string& job);
  absl::StatusOr<proto::JobPlan> GetPlan(const std::string& job);
  absl::StatusOr<proto::CheckpointList> ListCheckpoints(const std::string& job);
  absl::StatusOr<proto::ClusterStatus> GetCluster();
  // These two answer when the checkpoint exists: up to `timeout`.
  absl::StatusOr<proto::Manifest> TakeCheckpoint(const std::string& job, absl::Duration timeout);
  absl::StatusOr<proto::PrepareStopReply> PrepareStop(absl::Duration timeout);

  // Answers when workers have done so many steps each, or with what there is after `timeout`.
  absl::StatusOr<proto::ProfileReply> Profile(const std::string& job, int64_t steps,
                                              absl::Duration timeout);

  // Calls `visit` for each chunk until the history ends.
  absl::Status ReadHistory(const std::string& job,
                           absl::FunctionRef<void(const proto::HistoryChunk&)> visit);

  // Calls `visit` for each status until the job has ended (OK), the stream breaks, or CancelFollow
  // is called (Cancelled). Not repeated.
  absl::Status Follow(const std::string& job,
                      absl::FunctionRef<void(const proto::JobStatus&)> visit);
  // Ends the Follow that runs, and those to come.
  void CancelFollow();

 private:
  class Impl;
  const std::string address_;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COORDINATOR_API_H_
