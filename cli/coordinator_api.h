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

// The calls of a coordinator that `cairn` uses, as blocking functions. `job` is a job's id or name;
// a name refers to its newest job.
//
//   CoordinatorApi api("10.0.0.1:4000", absl::Seconds(5));
//   CAIRN_ASSIGN_OR_RETURN(const proto::JobStatus status, api.GetJob("fashion_mnist_cnn"));
//
// A call is repeated after a transient error, unless noted otherwise. Thread-safe.
// Errors: Unavailable names the address that does not answer. FailedPrecondition: the server at the
// address is not a coordinator. All other errors are the coordinator's.
class CoordinatorApi {
 public:
  // What a call does if nobody listens on the coordinator's port.
  enum class WhenRefused {
    kFail,  // Fail at once.
    kWait,  // Wait for up to `patience`: the coordinator is being started or restarted.
  };

  // `patience`: how long a call waits for a connection, and how long it is repeated.
  CoordinatorApi(const std::string& address, absl::Duration patience,
                 WhenRefused when_refused = WhenRefused::kFail);
  ~CoordinatorApi();
  CoordinatorApi(const CoordinatorApi&) = delete;
  CoordinatorApi& operator=(const CoordinatorApi&) = delete;

  const std::string& address() const { return address_; }

  // Repeated only with `request.reuse`, which makes a repetition harmless.
  absl::StatusOr<proto::SubmitReply> Submit(const proto::SubmitRequest& request);
  absl::StatusOr<proto::JobStatus> CommitWeights(const std::string& job);
  absl::StatusOr<proto::ListJobsReply> ListJobs();
  absl::StatusOr<proto::JobStatus> GetJob(const std::string& job);
  // Tells the coordinator that this client still uploads the job's weights.
  absl::StatusOr<proto::JobStatus> KeepUploading(const std::string& job);
  absl::StatusOr<proto::JobStatus> ResumeJob(const std::string& job);
  absl::StatusOr<proto::JobStatus> CancelJob(const std::string& job);
  // Not repeated: a second request could delete an older job of the same name.
  absl::StatusOr<proto::DeleteJobReply> DeleteJob(const std::string& job);
  absl::StatusOr<proto::JobPlan> GetPlan(const std::string& job);
  absl::StatusOr<proto::CheckpointList> ListCheckpoints(const std::string& job);
  absl::StatusOr<proto::ClusterStatus> GetCluster();
  // These two return when the checkpoint exists, or fail after `timeout`. Not repeated.
  absl::StatusOr<proto::Manifest> TakeCheckpoint(const std::string& job, absl::Duration timeout);
  absl::StatusOr<proto::PrepareStopReply> PrepareStop(absl::Duration timeout);

  // Returns when each worker has made `steps` steps, or after `timeout` with the measurements until
  // then. Not repeated.
  absl::StatusOr<proto::ProfileReply> Profile(const std::string& job, int64_t steps,
                                              absl::Duration timeout);

  // Blocks, and calls `visit` for each chunk of the results. An error of `visit` ends the call, and
  // is returned. OK: all results have come. Not repeated.
  absl::Status Infer(const proto::InferenceRequest& request,
                     absl::FunctionRef<absl::Status(const proto::InferenceChunk&)> visit);

  // Calls `visit` for each chunk of the history, in order.
  absl::Status ReadHistory(const std::string& job,
                           absl::FunctionRef<void(const proto::HistoryChunk&)> visit);

  // Blocks, and calls `visit` for each status that the coordinator sends. OK: the job has ended.
  // Cancelled: CancelFollow was called. Other errors: the stream broke. Not repeated.
  absl::Status Follow(const std::string& job,
                      absl::FunctionRef<void(const proto::JobStatus&)> visit);
  // Ends the current call of Follow and all later ones. Any thread.
  void CancelFollow();

 private:
  class Impl;
  const std::string address_;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COORDINATOR_API_H_
