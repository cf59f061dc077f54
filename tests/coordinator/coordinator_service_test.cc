#include "coordinator/coordinator_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/version.h"
#include "proto/coordinator.grpc.pb.h"
#include "tests/coordinator/live_task.h"
#include "tests/coordinator/simulated_ps.h"
#include "tests/coordinator/simulated_worker.h"
#include "tests/coordinator/test_daemon.h"

namespace cairn::coordinator {
namespace {

// Two ps and a worker, all working.
class LiveCluster {
 public:
  explicit LiveCluster(const std::string& coordinator) {
    for (uint32_t i = 0; i < 2; ++i) {
      ps_.push_back(std::make_unique<SimulatedPs>(i, &cluster_));
      ps_.back()->Restart(i + 1);
      cluster_.push_back(ps_.back().get());
    }
    worker_ = std::make_unique<SimulatedWorker>(0, &cluster_);
    worker_->Restart(10);
    for (auto& ps : ps_) {
      LiveTask::Behaviour behaviour;
      behaviour.make_join = [ps = ps.get()] { return ps->MakeJoin(); };
      behaviour.handle = [ps = ps.get()](const proto::Command& command,
                                         std::vector<proto::TaskMessage>* answers) {
        proto::TaskMessage answer;
        if (ps->Handle(command, /*disk_fails=*/false, &answer)) answers->push_back(answer);
      };
      tasks_.push_back(std::make_unique<LiveTask>(coordinator, behaviour, &mutex_));
    }
    LiveTask::Behaviour behaviour;
    behaviour.make_join = [this] { return worker_->MakeJoin(); };
    behaviour.handle = [this](const proto::Command& command, std::vector<proto::TaskMessage>*) {
      worker_->Handle(command);
    };
    tasks_.push_back(std::make_unique<LiveTask>(coordinator, behaviour, &mutex_));
    thread_ = std::thread([this] { Work(); });
  }
  ~LiveCluster() {
    stop_ = true;
    thread_.join();
  }

 private:
  void Work() {
    while (!stop_) {
      std::vector<proto::TaskMessage> messages;
      const bool connected = tasks_.back()->connected();
      {
        MutexLock lock(&mutex_);
        worker_->Step(connected, &messages);
      }
      tasks_.back()->Send(std::move(messages));
      absl::SleepFor(absl::Microseconds(200));
    }
  }

  Mutex mutex_;
  SimulatedPs::Cluster cluster_;
  std::vector<std::unique_ptr<SimulatedPs>> ps_;
  std::unique_ptr<SimulatedWorker> worker_;
  std::vector<std::unique_ptr<LiveTask>> tasks_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

proto::LayerSpec Layer(const std::string& name, const std::string& class_name) {
  proto::LayerSpec layer;
  layer.set_name(name);
  layer.set_class_name(class_name);
  return layer;
}

proto::SubmitRequest MakeRequest(const std::string& name) {
  proto::SubmitRequest request;
  request.set_client_version(kVersion);
  proto::Job* job = request.mutable_job();
  job->set_name(name);
  job->mutable_train()->mutable_npy()->add_features("/data/x.npy");
  job->mutable_train()->mutable_npy()->add_labels("/data/y.npy");
  *job->mutable_validation() = job->train();
  job->mutable_loss()->set_name("mean_squared_error");
  job->add_metrics("mean_absolute_error");
  job->mutable_optimizer()->set_name("sgd");
  job->set_batch_size(10);
  job->set_epochs(3);
  proto::ModelSpec* model = request.mutable_model();
  *model->add_layers() = Layer("input", "InputLayer");
  auto* shape = (*model->mutable_layers(0)->mutable_config()->mutable_fields())["batch_shape"]
                    .mutable_list_value();
  shape->add_values()->set_null_value(google::protobuf::NULL_VALUE);
  shape->add_values()->set_number_value(4);
  *model->add_layers() = Layer("dense", "Dense");
  (*model->mutable_layers(1)->mutable_config()->mutable_fields())["units"].set_number_value(1);
  model->mutable_layers(1)->add_inputs("input");
  model->add_inputs("input");
  model->add_outputs("dense");
  return request;
}

class CoordinatorServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = absl::StrCat(::testing::TempDir(), "/service_",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    daemon_ = std::make_unique<TestDaemon>(directory_);
    stub_ = daemon_->MakeStub();
  }

  grpc::Status Submit(const proto::SubmitRequest& request, proto::SubmitReply* reply) {
    grpc::ClientContext context;
    return stub_->Submit(&context, request, reply);
  }
  proto::JobStatus Get(const std::string& job) {
    grpc::ClientContext context;
    proto::JobReference reference;
    reference.set_job(job);
    proto::JobStatus status;
    EXPECT_TRUE(stub_->GetJob(&context, reference, &status).ok());
    return status;
  }
  // The last status of FollowJob.
  proto::JobStatus Follow(const std::string& job) {
    grpc::ClientContext context;
    proto::JobReference reference;
    reference.set_job(job);
    auto reader = stub_->FollowJob(&context, reference);
    proto::JobStatus status;
    while (reader->Read(&status)) ++statuses_seen_;
    const grpc::Status end = reader->Finish();
    EXPECT_TRUE(end.ok()) << end.error_message();
    return status;
  }

  std::string directory_;
  int statuses_seen_ = 0;
  std::unique_ptr<TestDaemon> daemon_;
  std::unique_ptr<proto::Coordinator::Stub> stub_;
};

TEST_F(CoordinatorServiceTest, AJobIsSubmittedTrainedFollowedAndItsHistoryRead) {
  LiveCluster cluster(daemon_->address());
  proto::SubmitReply reply;
  const grpc::Status submitted = Submit(MakeRequest("live"), &reply);
  ASSERT_TRUE(submitted.ok()) << submitted.error_message();
  EXPECT_EQ(reply.job_id(), 1u);
  EXPECT_EQ(reply.cluster_id(), 7u);
  EXPECT_EQ(reply.partition().variables_size(), 2);

  const proto::JobStatus status = Follow("live");
  EXPECT_EQ(status.state(), proto::FINISHED) << status.DebugString();
  EXPECT_EQ(status.batches_done(), 30);
  EXPECT_EQ(status.evaluations_size(), 3);
  EXPECT_EQ(status.rollbacks(), 0);
  EXPECT_GE(statuses_seen_, 1);

  grpc::ClientContext history_context;
  proto::JobReference reference;
  reference.set_job("1");
  auto history = stub_->GetHistory(&history_context, reference);
  proto::HistoryChunk chunk, all;
  while (history->Read(&chunk)) all.MergeFrom(chunk);
  ASSERT_TRUE(history->Finish().ok());
  ASSERT_EQ(all.batches_size(), 30);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(all.batches(i).batch(), i);
  EXPECT_EQ(all.evaluations_size(), 3);

  grpc::ClientContext list_context;
  proto::CheckpointList checkpoints;
  ASSERT_TRUE(stub_->ListCheckpoints(&list_context, reference, &checkpoints).ok());
  ASSERT_EQ(checkpoints.manifests_size(), 3);
  EXPECT_EQ(checkpoints.manifests(2).applied_batches(), 30);
}

TEST_F(CoordinatorServiceTest, JobsQueueAreListedAndCancelled) {
  proto::SubmitReply first, second;
  ASSERT_TRUE(Submit(MakeRequest("first"), &first).ok());
  ASSERT_TRUE(Submit(MakeRequest("second"), &second).ok());
  EXPECT_EQ(Get("first").state(), proto::PREPARING);
  EXPECT_NE(Get("first").waiting_for().find("ps 0, ps 1"), std::string::npos);
  EXPECT_EQ(Get("second").state(), proto::QUEUED);
  EXPECT_EQ(Get("second").waiting_for(), "behind job 1 (first)");

  grpc::ClientContext cancel_context, again_context, list_context;
  proto::JobReference reference;
  reference.set_job("first");
  proto::JobStatus status;
  ASSERT_TRUE(stub_->CancelJob(&cancel_context, reference, &status).ok());
  EXPECT_EQ(status.state(), proto::CANCELLED);
  EXPECT_EQ(stub_->CancelJob(&again_context, reference, &status).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  proto::ListJobsReply jobs;
  ASSERT_TRUE(stub_->ListJobs(&list_context, proto::ListJobsRequest(), &jobs).ok());
  ASSERT_EQ(jobs.jobs_size(), 2);
  EXPECT_EQ(jobs.jobs(1).state(), proto::PREPARING);  // Its turn has come.
}

TEST_F(CoordinatorServiceTest, ABadJobIsRefusedWithThePathAndNothingIsKept) {
  proto::SubmitRequest request = MakeRequest("bad");
  request.mutable_job()->mutable_optimizer()->set_name("sgdd");
  proto::SubmitReply reply;
  const grpc::Status status = Submit(request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message().rfind("optimizer: ", 0), 0u) << status.error_message();
  grpc::ClientContext context;
  proto::ListJobsReply jobs;
  ASSERT_TRUE(stub_->ListJobs(&context, proto::ListJobsRequest(), &jobs).ok());
  EXPECT_EQ(jobs.jobs_size(), 0);
}

TEST_F(CoordinatorServiceTest, TheSameJobAgainIsAnsweredAndAnotherOneOfItsNameRefused) {
  proto::SubmitRequest request = MakeRequest("again");
  request.set_reuse(true);
  proto::SubmitReply first, second, third;
  ASSERT_TRUE(Submit(request, &first).ok());
  EXPECT_FALSE(first.existed());
  ASSERT_TRUE(Submit(request, &second).ok());
  EXPECT_TRUE(second.existed());
  EXPECT_EQ(second.job_id(), first.job_id());
  request.mutable_job()->set_batch_size(20);
  const grpc::Status status = Submit(request, &third);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("batch_size: 10 -> 20"), std::string::npos)
      << status.error_message();
}

TEST_F(CoordinatorServiceTest, JobsSurviveARestartOfTheDaemon) {
  proto::SubmitReply reply;
  ASSERT_TRUE(Submit(MakeRequest("kept"), &reply).ok());
  stub_.reset();
  daemon_.reset();
  daemon_ = std::make_unique<TestDaemon>(directory_);
  stub_ = daemon_->MakeStub();
  LiveCluster cluster(daemon_->address());
  EXPECT_EQ(Follow("kept").state(), proto::FINISHED);
  grpc::ClientContext context;
  proto::ClusterStatus status;
  ASSERT_TRUE(stub_->GetCluster(&context, proto::GetClusterRequest(), &status).ok());
  EXPECT_EQ(status.term(), 2u);
  EXPECT_EQ(status.cluster_id(), 7u);
  EXPECT_EQ(std::count_if(status.members().begin(), status.members().end(),
                          [](const proto::Member& member) { return member.live(); }),
            3);
}

TEST_F(CoordinatorServiceTest, ATaskWithAnotherListOfPsIsRefusedForGood) {
  Mutex mutex;
  LiveTask::Behaviour behaviour;
  behaviour.make_join = [] {
    proto::Join join;
    join.set_role(proto::WORKER);
    join.add_ps_addresses("10.0.0.9:2222");
    return join;
  };
  behaviour.handle = [](const proto::Command&, std::vector<proto::TaskMessage>*) {};
  LiveTask task(daemon_->address(), behaviour, &mutex);
  for (int i = 0; i < 500 && task.refused().empty(); ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_TRUE(task.refused_permanently());
  EXPECT_NE(task.refused().find("127.0.0.1:1"), std::string::npos) << task.refused();
  EXPECT_NE(task.refused().find("10.0.0.9:2222"), std::string::npos) << task.refused();
}

TEST_F(CoordinatorServiceTest, ATaskOfAnotherVersionIsRefusedForGood) {
  grpc::ClientContext context;
  auto stream = stub_->Session(&context);
  proto::TaskMessage message;
  message.mutable_join()->set_role(proto::WORKER);
  message.mutable_join()->set_version("0.0.1");
  ASSERT_TRUE(stream->Write(message));
  proto::Command command;
  ASSERT_TRUE(stream->Read(&command));
  EXPECT_TRUE(command.refused().permanent());
  EXPECT_NE(command.refused().reason().find("0.0.1"), std::string::npos);
  EXPECT_NE(command.refused().reason().find(kVersion), std::string::npos);
  EXPECT_FALSE(stream->Read(&command));
}

TEST_F(CoordinatorServiceTest, ACheckpointOfAJobThatDoesNotTrainIsRefused) {
  proto::SubmitReply reply;
  ASSERT_TRUE(Submit(MakeRequest("waits"), &reply).ok());
  grpc::ClientContext context;
  proto::JobReference reference;
  reference.set_job("waits");
  proto::Manifest manifest;
  EXPECT_EQ(stub_->TakeCheckpoint(&context, reference, &manifest).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace cairn::coordinator
