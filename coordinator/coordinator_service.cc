#include "coordinator/coordinator_service.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process_info.h"
#include "common/status_macros.h"
#include "coordinator/history_stream.h"
#include "coordinator/inference_stream.h"
#include "coordinator/job_validation.h"
#include "coordinator/status_stream.h"
#include "coordinator/task_stream.h"
#include "coordinator/unary_call.h"

namespace cairn::coordinator {
namespace {

const char kOverloaded[] = "the coordinator is overloaded or stopping; try again";

absl::Status CheckVersion(const std::string& client, const std::string& coordinator) {
  if (client == coordinator) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the coordinator is version ", coordinator,
                                                    ", this cairn is version ", client,
                                                    "; use the same version everywhere"));
}

absl::StatusOr<ValidatedJob> CheckSubmission(const proto::SubmitRequest& request,
                                             const CoordinatorService::Options& options) {
  CAIRN_RETURN_IF_ERROR(CheckVersion(request.client_version(), options.version));
  return ValidateJob(request, options.ps_count, options.cluster);
}

// The coordinator as a member of the cluster.
void DescribeThisProcess(const std::string& address, proto::ClusterStatus* cluster) {
  proto::Member* self = cluster->mutable_coordinator();
  self->set_role(proto::COORDINATOR);
  self->set_address(address);
  self->set_incarnation(cluster->term());
  self->set_live(true);
  self->set_named(true);
  self->set_pid(getpid());
  self->set_host(HostName());
  self->set_memory_bytes(ResidentMemoryBytes());
  self->set_memory_limit_bytes(MemoryLimitBytes());
}

}  // namespace

template <typename Reply>
grpc::ServerUnaryReactor* CoordinatorService::OnLoop(
    Reply* reply, std::function<absl::StatusOr<Reply>(Scheduler*, EventTime, Outbox*)> call) {
  auto pending = UnaryCall<Reply>::Start(reply);
  grpc::ServerUnaryReactor* reactor = pending.get();
  const bool posted = loop_->Post(
      [pending, call = std::move(call)](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        absl::StatusOr<Reply> result = call(scheduler, now, outbox);
        outbox->replies.push_back([pending, result = std::move(result)]() mutable {
          pending->Answer(std::move(result));
        });
      });
  if (!posted) pending->Answer(absl::ResourceExhaustedError(kOverloaded));
  return reactor;
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* CoordinatorService::Session(
    grpc::CallbackServerContext*) {
  return TaskStream::Start(loop_, sessions_);
}

grpc::ServerUnaryReactor* CoordinatorService::Submit(grpc::CallbackServerContext*,
                                                     const proto::SubmitRequest* request,
                                                     proto::SubmitReply* reply) {
  absl::StatusOr<ValidatedJob> job = CheckSubmission(*request, options_);
  if (!job.ok()) {
    auto refused = UnaryCall<proto::SubmitReply>::Start(reply);
    refused->Answer(job.status());
    return refused.get();
  }
  return OnLoop<proto::SubmitReply>(
      reply, [job = *std::move(job)](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        return scheduler->Submit(job, now, outbox);
      });
}

grpc::ServerUnaryReactor* CoordinatorService::CommitWeights(grpc::CallbackServerContext*,
                                                            const proto::JobReference* request,
                                                            proto::JobStatus* reply) {
  return OnLoop<proto::JobStatus>(
      reply, [job = request->job()](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        return scheduler->CommitWeights(job, now, outbox);
      });
}

grpc::ServerUnaryReactor* CoordinatorService::ListJobs(grpc::CallbackServerContext*,
                                                       const proto::ListJobsRequest*,
                                                       proto::ListJobsReply* reply) {
  return OnLoop<proto::ListJobsReply>(
      reply, [](Scheduler* scheduler, EventTime now, Outbox*) { return scheduler->ListJobs(now); });
}

grpc::ServerUnaryReactor* CoordinatorService::GetJob(grpc::CallbackServerContext*,
                                                     const proto::JobReference* request,
                                                     proto::JobStatus* reply) {
  return OnLoop<proto::JobStatus>(
      reply, [job = request->job(), uploads = request->uploads_weights()](Scheduler* scheduler,
                                                                          EventTime now, Outbox*) {
        if (uploads) scheduler->OnUploaderAlive(job, now);
        return scheduler->GetJob(job, now);
      });
}

grpc::ServerWriteReactor<proto::JobStatus>* CoordinatorService::FollowJob(
    grpc::CallbackServerContext*, const proto::JobReference* request) {
  auto stream = StatusStream::Start();
  grpc::ServerWriteReactor<proto::JobStatus>* reactor = stream.get();
  const bool posted = loop_->Post([loop = loop_, stream, job = request->job()](
                                      Scheduler* scheduler, EventTime, Outbox* outbox) {
    const absl::StatusOr<uint64_t> id = scheduler->FindJob(job);
    if (!id.ok()) return stream->End(id.status());
    outbox->replies.push_back([loop, stream, id = *id] { loop->Follow(id, stream); });
  });
  if (!posted) stream->End(absl::ResourceExhaustedError(kOverloaded));
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::CancelJob(grpc::CallbackServerContext*,
                                                        const proto::JobReference* request,
                                                        proto::JobStatus* reply) {
  return OnLoop<proto::JobStatus>(
      reply, [job = request->job()](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        return scheduler->CancelJob(job, now, outbox);
      });
}

grpc::ServerUnaryReactor* CoordinatorService::ResumeJob(grpc::CallbackServerContext*,
                                                        const proto::JobReference* request,
                                                        proto::JobStatus* reply) {
  return OnLoop<proto::JobStatus>(
      reply, [job = request->job()](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        return scheduler->ResumeJob(job, now, outbox);
      });
}

grpc::ServerUnaryReactor* CoordinatorService::DeleteJob(grpc::CallbackServerContext*,
                                                        const proto::JobReference* request,
                                                        proto::DeleteJobReply* reply) {
  return OnLoop<proto::DeleteJobReply>(
      reply, [job = request->job()](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        return scheduler->DeleteJob(job, now, outbox);
      });
}

grpc::ServerUnaryReactor* CoordinatorService::GetPlan(grpc::CallbackServerContext*,
                                                      const proto::JobReference* request,
                                                      proto::JobPlan* reply) {
  return OnLoop<proto::JobPlan>(reply,
                                [job = request->job()](Scheduler* scheduler, EventTime, Outbox*) {
                                  return scheduler->GetPlan(job);
                                });
}

grpc::ServerWriteReactor<proto::HistoryChunk>* CoordinatorService::GetHistory(
    grpc::CallbackServerContext*, const proto::JobReference* request) {
  auto stream = HistoryStream::Start(journal_);
  grpc::ServerWriteReactor<proto::HistoryChunk>* reactor = stream.get();
  const bool posted =
      loop_->Post([stream, job = request->job()](Scheduler* scheduler, EventTime, Outbox* outbox) {
        const absl::StatusOr<uint64_t> id = scheduler->FindJob(job);
        outbox->replies.push_back([stream, id] { stream->Begin(id); });
      });
  if (!posted) stream->Begin(absl::ResourceExhaustedError(kOverloaded));
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::TakeCheckpoint(grpc::CallbackServerContext*,
                                                             const proto::JobReference* request,
                                                             proto::Manifest* reply) {
  auto pending = UnaryCall<proto::Manifest>::Start(reply);
  grpc::ServerUnaryReactor* reactor = pending.get();
  const bool posted = loop_->Post(
      [pending, job = request->job()](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        scheduler->TakeCheckpoint(
            job,
            [pending](absl::StatusOr<proto::Manifest> manifest) {
              if (manifest.ok()) manifest->clear_partition();
              pending->Answer(std::move(manifest));
            },
            now, outbox);
      });
  if (!posted) pending->Answer(absl::ResourceExhaustedError(kOverloaded));
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::ListCheckpoints(grpc::CallbackServerContext*,
                                                              const proto::JobReference* request,
                                                              proto::CheckpointList* reply) {
  return OnLoop<proto::CheckpointList>(
      reply, [job = request->job()](Scheduler* scheduler, EventTime, Outbox*) {
        return scheduler->ListCheckpoints(job);
      });
}

grpc::ServerUnaryReactor* CoordinatorService::GetCluster(grpc::CallbackServerContext*,
                                                         const proto::GetClusterRequest*,
                                                         proto::ClusterStatus* reply) {
  return OnLoop<proto::ClusterStatus>(
      reply, [address = options_.address](Scheduler* scheduler, EventTime now, Outbox*) {
        proto::ClusterStatus cluster = scheduler->GetCluster(now);
        DescribeThisProcess(address, &cluster);
        return cluster;
      });
}

grpc::ServerUnaryReactor* CoordinatorService::PrepareStop(grpc::CallbackServerContext*,
                                                          const proto::PrepareStopRequest* request,
                                                          proto::PrepareStopReply* reply) {
  auto pending = UnaryCall<proto::PrepareStopReply>::Start(reply);
  grpc::ServerUnaryReactor* reactor = pending.get();
  const absl::Duration timeout = absl::Seconds(request->timeout_seconds());
  const bool posted =
      loop_->Post([pending, timeout](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        scheduler->PrepareStop(
            timeout,
            [pending](absl::StatusOr<proto::PrepareStopReply> stopped) {
              pending->Answer(std::move(stopped));
            },
            now, outbox);
      });
  if (!posted) pending->Answer(absl::ResourceExhaustedError(kOverloaded));
  return reactor;
}

grpc::ServerWriteReactor<proto::InferenceChunk>* CoordinatorService::Infer(
    grpc::CallbackServerContext*, const proto::InferenceRequest* request) {
  auto stream = InferenceStream::Start();
  grpc::ServerWriteReactor<proto::InferenceChunk>* reactor = stream.get();
  const absl::Status same = CheckVersion(request->client_version(), options_.version);
  if (!same.ok()) {
    stream->End(same);
    return reactor;
  }
  const bool posted = loop_->Post(
      [stream, request = *request](Scheduler* scheduler, EventTime now, Outbox* outbox) mutable {
        const absl::Status status = scheduler->Infer(std::move(request), stream, now, outbox);
        if (!status.ok()) stream->End(status);
      });
  if (!posted) stream->End(absl::ResourceExhaustedError(kOverloaded));
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::ProfileJob(grpc::CallbackServerContext*,
                                                         const proto::ProfileRequest* request,
                                                         proto::ProfileReply* reply) {
  auto pending = UnaryCall<proto::ProfileReply>::Start(reply);
  grpc::ServerUnaryReactor* reactor = pending.get();
  const bool posted = loop_->Post(
      [pending, request = *request](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        scheduler->Profile(
            request,
            [pending](absl::StatusOr<proto::ProfileReply> profile) {
              pending->Answer(std::move(profile));
            },
            now, outbox);
      });
  if (!posted) pending->Answer(absl::ResourceExhaustedError(kOverloaded));
  return reactor;
}

}  // namespace cairn::coordinator
