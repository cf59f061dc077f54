#include "cli/coordinator_api.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/machine/port_probe.h"
#include "cluster/grpc_status.h"
#include "cluster/rpc_channel.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "proto/coordinator.grpc.pb.h"

namespace cairn::cli {
namespace {

using Stub = proto::Coordinator::Stub;

proto::JobReference Reference(const std::string& job) {
  proto::JobReference reference;
  reference.set_job(job);
  return reference;
}

}  // namespace

class CoordinatorApi::Impl {
 public:
  Impl(const std::string& address, absl::Duration patience, WhenRefused when_refused)
      : address_(address),
        patience_(patience),
        when_refused_(when_refused),
        channel_(cluster::CreateChannel(address)),
        stub_(proto::Coordinator::NewStub(channel_)) {
    patient_.give_up_after = patience;
    patient_.max_delay = absl::Milliseconds(500);
  }

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Reply*),
                             const Request& request) {
    return CallWithPolicy<Reply>(patient_, method, request);
  }

  // One attempt, for calls that take long or must not be repeated.
  template <typename Reply, typename Request>
  absl::StatusOr<Reply> CallOnce(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                              Reply*),
                                 const Request& request, absl::Duration timeout) {
    cluster::RetryPolicy once;
    once.attempt_timeout = timeout;
    once.give_up_after = absl::ZeroDuration();
    return CallWithPolicy<Reply>(once, method, request);
  }

  // Reads a server's stream to its end.
  template <typename Message>
  absl::Status ReadStream(std::unique_ptr<grpc::ClientReader<Message>> (Stub::*method)(
                              grpc::ClientContext*, const proto::JobReference&),
                          grpc::ClientContext* context, const std::string& job,
                          absl::FunctionRef<void(const Message&)> visit) {
    if (const std::string why = WaitForConnection().why; !why.empty()) return Unreachable(why);
    const auto reader = (stub_.get()->*method)(context, Reference(job));
    Message message;
    while (reader->Read(&message)) visit(message);
    return Explain(cluster::FromGrpc(reader->Finish()));
  }

  absl::Status Infer(const proto::InferenceRequest& request,
                     absl::FunctionRef<absl::Status(const proto::InferenceChunk&)> visit) {
    if (const std::string why = WaitForConnection().why; !why.empty()) return Unreachable(why);
    grpc::ClientContext context;
    const auto reader = stub_->Infer(&context, request);
    proto::InferenceChunk chunk;
    absl::Status visited;
    while (visited.ok() && reader->Read(&chunk)) visited = visit(chunk);
    if (!visited.ok()) context.TryCancel();
    const absl::Status status = cluster::FromGrpc(reader->Finish());
    return visited.ok() ? Explain(status) : visited;
  }

  absl::Status Follow(const std::string& job,
                      absl::FunctionRef<void(const proto::JobStatus&)> visit) {
    grpc::ClientContext context;
    {
      MutexLock lock(&mutex_);
      if (follow_cancelled_) return absl::CancelledError("following was stopped");
      following_ = &context;
    }
    const absl::Status status =
        ReadStream<proto::JobStatus>(&Stub::FollowJob, &context, job, visit);
    MutexLock lock(&mutex_);
    following_ = nullptr;
    return status;
  }

  void CancelFollow() {
    MutexLock lock(&mutex_);
    follow_cancelled_ = true;
    if (following_ != nullptr) following_->TryCancel();
  }

 private:
  template <typename Reply, typename Request, typename Method>
  absl::StatusOr<Reply> CallWithPolicy(const cluster::RetryPolicy& policy, Method method,
                                       const Request& request) {
    Reply reply;
    NoConnection none;
    const absl::Status status =
        cluster::CallWithRetry(policy, [&](grpc::ClientContext* context) -> grpc::Status {
          none = WaitForConnection();
          if (none.why.empty()) return (stub_.get()->*method)(context, request, &reply);
          // CallWithRetry repeats UNAVAILABLE, but not ABORTED.
          return {none.is_certain ? grpc::StatusCode::ABORTED : grpc::StatusCode::UNAVAILABLE,
                  none.why};
        });
    if (!none.why.empty()) return Unreachable(none.why);
    if (!status.ok()) return Explain(status);
    return reply;
  }

  // The reason why there is no connection; `why` is empty if there is one.
  struct NoConnection {
    std::string why;
    bool is_certain = false;  // Nobody listens there: waiting would not help.
  };

  // Every call first waits for the connection. gRPC's synchronous client makes progress only while
  // a call waits, so a call that fails fast would leave a connection half established.
  NoConnection WaitForConnection() {
    const auto deadline = absl::ToChronoTime(absl::Now() + patience_);
    while (true) {
      const grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
      if (state == GRPC_CHANNEL_READY) return {};
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && when_refused_ == WhenRefused::kFail) {
        const std::string why = WhyUnreachable(address_);
        if (!why.empty()) return {why, /*is_certain=*/true};
      }
      if (!channel_->WaitForStateChange(state, deadline)) {
        return {absl::StrCat("no connection within ", absl::FormatDuration(patience_))};
      }
    }
  }

  absl::Status Unreachable(const std::string& why) const {
    return absl::UnavailableError(
        absl::StrCat("cannot reach the coordinator at ", address_, " (", why,
                     "); is the cluster running, and is this its address?"));
  }

  absl::Status Explain(const absl::Status& status) const {
    // The peer is another gRPC or HTTP/2 server, for example a ps.
    if (absl::IsUnimplemented(status)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the process at ", address_, " is not a coordinator (",
                       std::string(status.message()), "); is this the coordinator's address?"));
    }
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return status;
    return Unreachable(std::string(status.message()));
  }

  const std::string address_;
  const absl::Duration patience_;
  const WhenRefused when_refused_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<Stub> stub_;
  cluster::RetryPolicy patient_;

  Mutex mutex_;
  bool follow_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* following_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

CoordinatorApi::CoordinatorApi(const std::string& address, absl::Duration patience,
                               WhenRefused when_refused)
    : address_(address), impl_(std::make_unique<Impl>(address, patience, when_refused)) {}
CoordinatorApi::~CoordinatorApi() = default;

absl::StatusOr<proto::SubmitReply> CoordinatorApi::Submit(const proto::SubmitRequest& request) {
  if (request.reuse()) return impl_->Call<proto::SubmitReply>(&Stub::Submit, request);
  // A repeated Submit could create a second job. So GetCluster, which may be repeated, waits for
  // the coordinator. Then Submit is sent once, and its failure is returned.
  CAIRN_RETURN_IF_ERROR(GetCluster().status());
  return impl_->CallOnce<proto::SubmitReply>(&Stub::Submit, request, absl::Seconds(60));
}

absl::StatusOr<proto::JobStatus> CoordinatorApi::CommitWeights(const std::string& job) {
  return impl_->Call<proto::JobStatus>(&Stub::CommitWeights, Reference(job));
}

absl::StatusOr<proto::ListJobsReply> CoordinatorApi::ListJobs() {
  return impl_->Call<proto::ListJobsReply>(&Stub::ListJobs, proto::ListJobsRequest());
}

absl::StatusOr<proto::JobStatus> CoordinatorApi::GetJob(const std::string& job) {
  return impl_->Call<proto::JobStatus>(&Stub::GetJob, Reference(job));
}

absl::StatusOr<proto::JobStatus> CoordinatorApi::KeepUploading(const std::string& job) {
  proto::JobReference reference = Reference(job);
  reference.set_uploads_weights(true);
  return impl_->Call<proto::JobStatus>(&Stub::GetJob, reference);
}

absl::StatusOr<proto::JobStatus> CoordinatorApi::ResumeJob(const std::string& job) {
  // Asked twice it would answer that the job is queued.
  CAIRN_RETURN_IF_ERROR(GetCluster().status());
  return impl_->CallOnce<proto::JobStatus>(&Stub::ResumeJob, Reference(job), absl::Seconds(60));
}

absl::StatusOr<proto::JobStatus> CoordinatorApi::CancelJob(const std::string& job) {
  return impl_->Call<proto::JobStatus>(&Stub::CancelJob, Reference(job));
}

absl::StatusOr<proto::DeleteJobReply> CoordinatorApi::DeleteJob(const std::string& job) {
  // A repeated request would find no such job, or delete an older one of the same name. So
  // GetCluster, which may be repeated, waits for the coordinator.
  CAIRN_RETURN_IF_ERROR(GetCluster().status());
  return impl_->CallOnce<proto::DeleteJobReply>(&Stub::DeleteJob, Reference(job),
                                                absl::Seconds(60));
}

absl::StatusOr<proto::JobPlan> CoordinatorApi::GetPlan(const std::string& job) {
  return impl_->Call<proto::JobPlan>(&Stub::GetPlan, Reference(job));
}

absl::StatusOr<proto::CheckpointList> CoordinatorApi::ListCheckpoints(const std::string& job) {
  return impl_->Call<proto::CheckpointList>(&Stub::ListCheckpoints, Reference(job));
}

absl::StatusOr<proto::ClusterStatus> CoordinatorApi::GetCluster() {
  return impl_->Call<proto::ClusterStatus>(&Stub::GetCluster, proto::GetClusterRequest());
}

absl::StatusOr<proto::Manifest> CoordinatorApi::TakeCheckpoint(const std::string& job,
                                                               absl::Duration timeout) {
  return impl_->CallOnce<proto::Manifest>(&Stub::TakeCheckpoint, Reference(job), timeout);
}

absl::StatusOr<proto::PrepareStopReply> CoordinatorApi::PrepareStop(absl::Duration timeout) {
  proto::PrepareStopRequest request;
  request.set_timeout_seconds(absl::ToDoubleSeconds(timeout));
  return impl_->CallOnce<proto::PrepareStopReply>(&Stub::PrepareStop, request,
                                                  timeout + absl::Seconds(5));
}

absl::StatusOr<proto::ProfileReply> CoordinatorApi::Profile(const std::string& job, int64_t steps,
                                                            absl::Duration timeout) {
  proto::ProfileRequest request;
  request.set_job(job);
  request.set_steps(steps);
  request.set_timeout_seconds(absl::ToDoubleSeconds(timeout));
  return impl_->CallOnce<proto::ProfileReply>(&Stub::ProfileJob, request,
                                              timeout + absl::Seconds(15));
}

absl::Status CoordinatorApi::ReadHistory(
    const std::string& job, absl::FunctionRef<void(const proto::HistoryChunk&)> visit) {
  // A stream is not repeated. So GetJob, which may be repeated, waits for the coordinator.
  CAIRN_RETURN_IF_ERROR(GetJob(job).status());
  grpc::ClientContext context;
  return impl_->ReadStream<proto::HistoryChunk>(&Stub::GetHistory, &context, job, visit);
}

absl::Status CoordinatorApi::Infer(
    const proto::InferenceRequest& request,
    absl::FunctionRef<absl::Status(const proto::InferenceChunk&)> visit) {
  return impl_->Infer(request, visit);
}

absl::Status CoordinatorApi::Follow(const std::string& job,
                                    absl::FunctionRef<void(const proto::JobStatus&)> visit) {
  return impl_->Follow(job, visit);
}

void CoordinatorApi::CancelFollow() { impl_->CancelFollow(); }

}  // namespace cairn::cli
