#ifndef CAIRN_TESTS_CLI_FAKE_CLUSTER_H_
#define CAIRN_TESTS_CLI_FAKE_CLUSTER_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/data_server.h"
#include "common/mutex.h"
#include "proto/coordinator.grpc.pb.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {

// A coordinator and two ps with the example job (example_job.h), whose replies a test can set. Uses
// the real protocol over real sockets.
class FakeCluster final : public proto::Coordinator::Service {
 public:
  FakeCluster();
  ~FakeCluster() override;

  const std::string& address() const { return address_; }
  std::vector<std::string> ps_addresses() const;

  // The reply of Submit: the state of the job, and whether the job existed.
  void set_submit_state(proto::JobState state, bool existed);
  // The statuses that FollowJob sends. If the last one has not ended, the stream breaks after it.
  void set_followed(std::vector<proto::JobStatus> statuses);

  // The reply of ListJobs, in place of the example's status.
  void set_listed(std::vector<proto::JobStatus> statuses);

  // Makes GetJob return a rejected job for this name.
  void set_refused(const std::string& name);

  // What was received.
  proto::SubmitRequest submitted();
  int follows();
  int commits();
  // The jobs that were to be deleted.
  std::vector<std::string> deleted();
  // Values by block id.
  std::map<uint32_t, std::vector<float>> uploaded();

  grpc::Status Submit(grpc::ServerContext*, const proto::SubmitRequest* request,
                      proto::SubmitReply* reply) override;
  grpc::Status CommitWeights(grpc::ServerContext*, const proto::JobReference* job,
                             proto::JobStatus* status) override;
  grpc::Status ListJobs(grpc::ServerContext*, const proto::ListJobsRequest*,
                        proto::ListJobsReply* reply) override;
  grpc::Status GetJob(grpc::ServerContext*, const proto::JobReference* job,
                      proto::JobStatus* status) override;
  grpc::Status ResumeJob(grpc::ServerContext*, const proto::JobReference* job,
                         proto::JobStatus* status) override;
  grpc::Status CancelJob(grpc::ServerContext*, const proto::JobReference* job,
                         proto::JobStatus* status) override;
  // Replies for a job that has ended.
  grpc::Status DeleteJob(grpc::ServerContext*, const proto::JobReference* job,
                         proto::DeleteJobReply* reply) override;
  grpc::Status GetPlan(grpc::ServerContext*, const proto::JobReference* job,
                       proto::JobPlan* plan) override;
  grpc::Status ListCheckpoints(grpc::ServerContext*, const proto::JobReference* job,
                               proto::CheckpointList* list) override;
  grpc::Status GetCluster(grpc::ServerContext*, const proto::GetClusterRequest*,
                          proto::ClusterStatus* status) override;
  grpc::Status TakeCheckpoint(grpc::ServerContext*, const proto::JobReference* job,
                              proto::Manifest* manifest) override;
  // Replies with the example's checkpoint, as if its job had been running.
  grpc::Status PrepareStop(grpc::ServerContext* context, const proto::PrepareStopRequest* request,
                           proto::PrepareStopReply* reply) override;
  // Replies for a job whose workers wait: the profiles of a ps and of a worker are empty.
  grpc::Status ProfileJob(grpc::ServerContext*, const proto::ProfileRequest* request,
                          proto::ProfileReply* reply) override;
  grpc::Status FollowJob(grpc::ServerContext*, const proto::JobReference* job,
                         grpc::ServerWriter<proto::JobStatus>* writer) override;
  grpc::Status GetHistory(grpc::ServerContext*, const proto::JobReference* job,
                          grpc::ServerWriter<proto::HistoryChunk>* writer) override;

 private:
  void ServeData(std::unique_ptr<cluster::RawCall> call);
  void Upload(cluster::RawCall* call);
  void Pull(cluster::RawCall* call);

  Mutex mutex_;
  proto::SubmitRequest submitted_ ABSL_GUARDED_BY(mutex_);
  proto::JobState submit_state_ ABSL_GUARDED_BY(mutex_) = proto::QUEUED;
  bool existed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<proto::JobStatus> followed_ ABSL_GUARDED_BY(mutex_);
  std::vector<proto::JobStatus> listed_ ABSL_GUARDED_BY(mutex_) = {ExampleStatus()};
  std::string refused_ ABSL_GUARDED_BY(mutex_);
  int follows_ ABSL_GUARDED_BY(mutex_) = 0;
  int commits_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> deleted_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, std::vector<float>> uploaded_ ABSL_GUARDED_BY(mutex_);

  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<cluster::DataServer>> ps_;
};

}  // namespace cairn::cli

#endif  // CAIRN_TESTS_CLI_FAKE_CLUSTER_H_
