#ifndef CAIRN_COORDINATOR_COORDINATOR_SERVICE_H_
#define CAIRN_COORDINATOR_COORDINATOR_SERVICE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/control_loop.h"
#include "coordinator/session_registry.h"
#include "proto/coordinator.grpc.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

template <template <typename> typename... Methods>
struct ServiceWith {
  using Type = proto::Coordinator::Service;
};
template <template <typename> typename First, template <typename> typename... Others>
struct ServiceWith<First, Others...> {
  using Type = First<typename ServiceWith<Others...>::Type>;
};
// proto::Coordinator::CallbackService, but with sessions that write bytes instead of messages,
// since the plan of a job is serialized once for all of them (see TaskStream).
using RawSessionService = ServiceWith<proto::Coordinator::WithRawCallbackMethod_Session,
                                      proto::Coordinator::WithCallbackMethod_Submit,
                                      proto::Coordinator::WithCallbackMethod_CommitWeights,
                                      proto::Coordinator::WithCallbackMethod_ListJobs,
                                      proto::Coordinator::WithCallbackMethod_GetJob,
                                      proto::Coordinator::WithCallbackMethod_FollowJob,
                                      proto::Coordinator::WithCallbackMethod_CancelJob,
                                      proto::Coordinator::WithCallbackMethod_ResumeJob,
                                      proto::Coordinator::WithCallbackMethod_DeleteJob,
                                      proto::Coordinator::WithCallbackMethod_GetPlan,
                                      proto::Coordinator::WithCallbackMethod_GetHistory,
                                      proto::Coordinator::WithCallbackMethod_TakeCheckpoint,
                                      proto::Coordinator::WithCallbackMethod_ListCheckpoints,
                                      proto::Coordinator::WithCallbackMethod_GetCluster,
                                      proto::Coordinator::WithCallbackMethod_PrepareStop,
                                      proto::Coordinator::WithCallbackMethod_ProfileJob,
                                      proto::Coordinator::WithCallbackMethod_Infer>::Type;

// The Coordinator service on gRPC's callback API. Turns calls into events of the control loop and
// answers them when the loop does. Validates submitted jobs and streams history from the journal on
// gRPC's own threads, so that the loop waits for neither. Thread-safe.
class CoordinatorService final : public RawSessionService {
 public:
  struct Options {
    std::string version;
    int ps_count = 1;  // Tasks that hold parameters.
    job::ClusterShape cluster = {};
    std::string address;  // The address for clients; shown in status.
  };

  // All must outlive the service. The loop must run until the gRPC server has shut down.
  CoordinatorService(Options options, ControlLoop* loop, SessionRegistry* sessions,
                     const storage::Journal* journal)
      : options_(std::move(options)), loop_(loop), sessions_(sessions), journal_(journal) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Session(
      grpc::CallbackServerContext* context) override;

  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* context,
                                   const proto::SubmitRequest* request,
                                   proto::SubmitReply* reply) override;
  grpc::ServerUnaryReactor* CommitWeights(grpc::CallbackServerContext* context,
                                          const proto::JobReference* request,
                                          proto::JobStatus* reply) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const proto::ListJobsRequest* request,
                                     proto::ListJobsReply* reply) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const proto::JobReference* request,
                                   proto::JobStatus* reply) override;
  grpc::ServerWriteReactor<proto::JobStatus>* FollowJob(
      grpc::CallbackServerContext* context, const proto::JobReference* request) override;
  grpc::ServerUnaryReactor* ResumeJob(grpc::CallbackServerContext* context,
                                      const proto::JobReference* request,
                                      proto::JobStatus* reply) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const proto::JobReference* request,
                                      proto::JobStatus* reply) override;
  grpc::ServerUnaryReactor* DeleteJob(grpc::CallbackServerContext*,
                                      const proto::JobReference* request,
                                      proto::DeleteJobReply* reply) override;
  grpc::ServerUnaryReactor* GetPlan(grpc::CallbackServerContext* context,
                                    const proto::JobReference* request,
                                    proto::JobPlan* reply) override;
  grpc::ServerWriteReactor<proto::HistoryChunk>* GetHistory(
      grpc::CallbackServerContext* context, const proto::JobReference* request) override;
  grpc::ServerUnaryReactor* TakeCheckpoint(grpc::CallbackServerContext* context,
                                           const proto::JobReference* request,
                                           proto::Manifest* reply) override;
  grpc::ServerUnaryReactor* ListCheckpoints(grpc::CallbackServerContext* context,
                                            const proto::JobReference* request,
                                            proto::CheckpointList* reply) override;
  grpc::ServerUnaryReactor* GetCluster(grpc::CallbackServerContext* context,
                                       const proto::GetClusterRequest* request,
                                       proto::ClusterStatus* reply) override;
  grpc::ServerUnaryReactor* PrepareStop(grpc::CallbackServerContext* context,
                                        const proto::PrepareStopRequest* request,
                                        proto::PrepareStopReply* reply) override;
  grpc::ServerWriteReactor<proto::InferenceChunk>* Infer(
      grpc::CallbackServerContext* context, const proto::InferenceRequest* request) override;
  grpc::ServerUnaryReactor* ProfileJob(grpc::CallbackServerContext* context,
                                       const proto::ProfileRequest* request,
                                       proto::ProfileReply* reply) override;

 private:
  // Runs `call` on the loop and answers with its result once that is journaled.
  template <typename Reply>
  grpc::ServerUnaryReactor* OnLoop(
      Reply* reply, std::function<absl::StatusOr<Reply>(Scheduler*, EventTime, Outbox*)> call);

  const Options options_;
  ControlLoop* const loop_;
  SessionRegistry* const sessions_;
  const storage::Journal* const journal_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_COORDINATOR_SERVICE_H_
