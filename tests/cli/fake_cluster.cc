#include "tests/cli/fake_cluster.h"

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "common/check.h"
#include "common/version.h"
#include "proto/parameter_server.pb.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

constexpr uint64_t kClusterId = 99;

// The error of the real coordinator.
grpc::Status CheckJob(const proto::JobReference* job) {
  if (job->job() == "1" || job->job() == "example") return grpc::Status::OK;
  return {grpc::StatusCode::NOT_FOUND, "there is no job '" + job->job() + "'"};
}

}  // namespace

FakeCluster::FakeCluster() {
  int port = 0;
  server_ = grpc::ServerBuilder()
                .AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port)
                .RegisterService(this)
                .BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
  for (int i = 0; i < 2; ++i) {
    cluster::DataServerOptions options;
    options.address = "127.0.0.1:0";
    auto server = cluster::DataServer::Start(
        options, [this](std::unique_ptr<cluster::RawCall> call) { ServeData(std::move(call)); });
    CAIRN_CHECK(server.ok());
    ps_.push_back(*std::move(server));
  }
}

FakeCluster::~FakeCluster() { server_->Shutdown(std::chrono::system_clock::now()); }

std::vector<std::string> FakeCluster::ps_addresses() const {
  std::vector<std::string> addresses;
  for (const auto& ps : ps_) addresses.push_back(absl::StrCat("127.0.0.1:", ps->port()));
  return addresses;
}

void FakeCluster::set_submit_state(proto::JobState state, bool existed) {
  MutexLock lock(&mutex_);
  submit_state_ = state;
  existed_ = existed;
}

void FakeCluster::set_followed(std::vector<proto::JobStatus> statuses) {
  MutexLock lock(&mutex_);
  followed_ = std::move(statuses);
}

void FakeCluster::set_listed(std::vector<proto::JobStatus> statuses) {
  MutexLock lock(&mutex_);
  listed_ = std::move(statuses);
}

void FakeCluster::set_refused(const std::string& name) {
  MutexLock lock(&mutex_);
  refused_ = name;
}

proto::SubmitRequest FakeCluster::submitted() {
  MutexLock lock(&mutex_);
  return submitted_;
}

int FakeCluster::follows() {
  MutexLock lock(&mutex_);
  return follows_;
}

int FakeCluster::commits() {
  MutexLock lock(&mutex_);
  return commits_;
}

std::vector<std::string> FakeCluster::deleted() {
  MutexLock lock(&mutex_);
  return deleted_;
}

std::map<uint32_t, std::vector<float>> FakeCluster::uploaded() {
  MutexLock lock(&mutex_);
  return uploaded_;
}

grpc::Status FakeCluster::Submit(grpc::ServerContext*, const proto::SubmitRequest* request,
                                 proto::SubmitReply* reply) {
  MutexLock lock(&mutex_);
  submitted_ = *request;
  reply->set_job_id(1);
  reply->set_existed(existed_);
  *reply->mutable_status() = ExampleStatus();
  reply->mutable_status()->set_state(submit_state_);
  *reply->mutable_partition() = ExamplePlan().partition();
  reply->set_cluster_id(kClusterId);
  for (const auto& address : ps_addresses()) reply->add_ps_addresses(address);
  return grpc::Status::OK;
}

grpc::Status FakeCluster::CommitWeights(grpc::ServerContext*, const proto::JobReference* job,
                                        proto::JobStatus* status) {
  MutexLock lock(&mutex_);
  ++commits_;
  status->set_state(proto::QUEUED);
  return CheckJob(job);
}

grpc::Status FakeCluster::ListJobs(grpc::ServerContext*, const proto::ListJobsRequest*,
                                   proto::ListJobsReply* reply) {
  MutexLock lock(&mutex_);
  reply->mutable_jobs()->Assign(listed_.begin(), listed_.end());
  return grpc::Status::OK;
}

grpc::Status FakeCluster::GetJob(grpc::ServerContext*, const proto::JobReference* job,
                                 proto::JobStatus* status) {
  MutexLock lock(&mutex_);
  *status = ExampleStatus();
  if (job->job().empty() || job->job() != refused_) return CheckJob(job);
  status->set_job_id(2);
  status->set_name(refused_);
  status->set_state(proto::FAILED);
  return grpc::Status::OK;
}

grpc::Status FakeCluster::ResumeJob(grpc::ServerContext*, const proto::JobReference* job,
                                    proto::JobStatus* status) {
  *status = ExampleStatus();
  status->set_state(proto::QUEUED);
  return CheckJob(job);
}

grpc::Status FakeCluster::CancelJob(grpc::ServerContext*, const proto::JobReference* job,
                                    proto::JobStatus* status) {
  *status = ExampleStatus();
  status->set_state(proto::CANCELLED);
  return CheckJob(job);
}

grpc::Status FakeCluster::GetPlan(grpc::ServerContext*, const proto::JobReference* job,
                                  proto::JobPlan* plan) {
  *plan = ExamplePlan();
  return CheckJob(job);
}

grpc::Status FakeCluster::ListCheckpoints(grpc::ServerContext*, const proto::JobReference* job,
                                          proto::CheckpointList* list) {
  *list->add_manifests() = ExampleManifest();
  return CheckJob(job);
}

grpc::Status FakeCluster::PrepareStop(grpc::ServerContext*, const proto::PrepareStopRequest*,
                                      proto::PrepareStopReply* reply) {
  *reply->mutable_manifest() = ExampleManifest();
  return grpc::Status::OK;
}

grpc::Status FakeCluster::GetCluster(grpc::ServerContext*, const proto::GetClusterRequest*,
                                     proto::ClusterStatus* status) {
  status->set_version(kVersion);
  status->set_cluster_id(kClusterId);
  status->mutable_coordinator()->set_role(proto::COORDINATOR);
  status->mutable_coordinator()->set_live(true);
  for (const auto& address : ps_addresses()) {
    status->add_ps_addresses(address);
    proto::Member* member = status->add_members();
    member->set_role(proto::PS);
    member->set_live(true);
    member->set_address(address);
  }
  return grpc::Status::OK;
}

grpc::Status FakeCluster::DeleteJob(grpc::ServerContext*, const proto::JobReference* job,
                                    proto::DeleteJobReply* reply) {
  *reply->mutable_status() = ExampleStatus();
  reply->set_checkpoints(2);
  reply->set_bytes(3072);
  MutexLock lock(&mutex_);
  deleted_.push_back(job->job());
  return CheckJob(job);
}

grpc::Status FakeCluster::TakeCheckpoint(grpc::ServerContext*, const proto::JobReference* job,
                                         proto::Manifest* manifest) {
  *manifest = ExampleManifest();
  return CheckJob(job);
}

grpc::Status FakeCluster::FollowJob(grpc::ServerContext*, const proto::JobReference* job,
                                    grpc::ServerWriter<proto::JobStatus>* writer) {
  std::vector<proto::JobStatus> statuses;
  {
    MutexLock lock(&mutex_);
    ++follows_;
    statuses = followed_;
    // The next stream sends only the end.
    if (!followed_.empty()) followed_ = {followed_.back()};
    if (!followed_.empty()) followed_.back().set_state(proto::FINISHED);
  }
  for (const auto& status : statuses) writer->Write(status);
  if (statuses.empty() || statuses.back().state() != proto::RUNNING) return CheckJob(job);
  return {grpc::StatusCode::UNAVAILABLE, "the coordinator was killed"};
}

grpc::Status FakeCluster::GetHistory(grpc::ServerContext*, const proto::JobReference* job,
                                     grpc::ServerWriter<proto::HistoryChunk>* writer) {
  proto::HistoryChunk chunk;
  chunk.set_batches_per_epoch(3);
  chunk.add_metric_names("mae");
  for (const auto& batch : ExampleBatches()) *chunk.add_batches() = batch;
  *chunk.add_evaluations() = ExampleEvaluation();
  writer->Write(chunk);
  return CheckJob(job);
}

grpc::Status FakeCluster::ProfileJob(grpc::ServerContext*, const proto::ProfileRequest*,
                                     proto::ProfileReply* reply) {
  reply->add_tasks()->set_role(proto::PS);
  return grpc::Status::OK;
}

void FakeCluster::ServeData(std::unique_ptr<cluster::RawCall> call) {
  if (call->method() == cluster::DataMethod::kUpload) return Upload(call.get());
  if (call->method() == cluster::DataMethod::kPull) return Pull(call.get());
  call->Fail(absl::UnimplementedError("cairn does not push"));
}

void FakeCluster::Upload(cluster::RawCall* call) {
  proto::UploadHeader header;
  auto reader = cluster::FrameReader::Open(call->TakeRequest(), &header);
  if (!reader.ok()) return call->Fail(reader.status());
  if (header.envelope().cluster_id() != kClusterId) {
    return call->Fail(absl::FailedPreconditionError("another cluster"));
  }
  MutexLock lock(&mutex_);
  for (const auto& block : header.blocks()) {
    int64_t elements = block.row_end() - block.row_begin();
    for (int i = 1; i < block.variable_shape_size(); ++i) elements *= block.variable_shape(i);
    std::vector<float>& values = uploaded_[block.block()];
    values.resize(elements);
    CAIRN_CHECK(reader->Read(absl::MakeSpan(values)).ok());
  }
  call->Reply(*cluster::EncodeFrame(proto::UploadReplyHeader(), {}));
}

void FakeCluster::Pull(cluster::RawCall* call) {
  proto::PullHeader header;
  auto reader = cluster::FrameReader::Open(call->TakeRequest(), &header);
  if (!reader.ok()) return call->Fail(reader.status());
  if (header.checkpoint() != ExampleManifest().checkpoint()) {
    return call->Fail(absl::NotFoundError("no such snapshot"));
  }
  const auto values = std::make_shared<const std::vector<std::vector<float>>>(ExampleValues());
  const auto map = ExamplePlan().partition();
  std::vector<cluster::FramePiece> pieces;
  proto::PullReplyHeader reply;
  for (const uint32_t block : header.blocks()) {
    reply.add_versions(6);
    const auto& variable = (*values)[map.blocks(block).variable()];
    pieces.push_back(cluster::FramePiece::OfFloats(
        absl::MakeConstSpan(variable).subspan(cluster::BlockOffset(map, block),
                                              cluster::BlockElements(map, block)),
        values));
  }
  call->Reply(*cluster::EncodeFrame(reply, std::move(pieces)));
}

}  // namespace cairn::cli
