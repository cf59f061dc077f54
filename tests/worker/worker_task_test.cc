#include "worker/worker_task.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cluster/control_server.h"
#include "common/bounded_queue.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "proto/coordinator.grpc.pb.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/test_ps.h"

namespace cairn::worker {
namespace {

using ServerStream = grpc::ServerReaderWriter<proto::Command, proto::TaskMessage>;

// A coordinator that the test controls. It accepts every worker that joins.
class FakeCoordinator final : public proto::Coordinator::Service {
 public:
  explicit FakeCoordinator(const std::vector<std::string>& ps_addresses) {
    proto::Welcome& welcome = *welcome_.mutable_welcome();
    welcome.set_term(1);
    welcome.set_cluster_id(kTestClusterId);
    welcome.set_lease_milliseconds(10000);
    for (const std::string& address : ps_addresses) welcome.add_ps_addresses(address);
    auto server = cluster::ControlServer::Start("127.0.0.1:0", {this});
    EXPECT_TRUE(server.ok());
    server_ = *std::move(server);
  }

  grpc::Status Session(grpc::ServerContext*, ServerStream* stream) override {
    proto::TaskMessage message;
    while (stream->Read(&message)) {
      if (message.has_join()) {
        MutexLock lock(&mutex_);
        stream_ = stream;
        stream->Write(welcome_);
      }
      if (!message.has_heartbeat()) heard_.Push(message);
    }
    MutexLock lock(&mutex_);
    if (stream_ == stream) stream_ = nullptr;
    return grpc::Status::OK;
  }

  void Say(const proto::Command& command) {
    MutexLock lock(&mutex_);
    ASSERT_NE(stream_, nullptr);
    stream_->Write(command);
  }

  // Returns the next message for which `wanted` returns true; drops those before it.
  proto::TaskMessage Hear(const std::function<bool(const proto::TaskMessage&)>& wanted) {
    while (auto message = heard_.Pop(absl::Seconds(20))) {
      if (wanted(*message)) return *message;
    }
    ADD_FAILURE() << "the worker never said it";
    return {};
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

 private:
  proto::Command welcome_;
  BoundedQueue<proto::TaskMessage> heard_{10000};
  Mutex mutex_;
  ServerStream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<cluster::ControlServer> server_;
};

class WorkerTaskTest : public ::testing::Test {
 protected:
  WorkerTaskTest()
      : plan_(CountingPlan({.validation = true})),
        cluster_(plan_),
        coordinator_(cluster_.addresses()),
        device_(*nn::CreateDevice("cpu")) {
    WorkerTaskOptions options;
    options.coordinator = coordinator_.address();
    task_ = std::make_unique<WorkerTask>(
        options, device_.get(), [](const std::string& reason) { ADD_FAILURE() << reason; });
    coordinator_.Hear([](const auto& message) { return message.has_join(); });
  }

  void StartJob(uint64_t generation = 1) {
    proto::Command command;
    *command.mutable_start_job()->mutable_plan() = plan_;
    command.mutable_start_job()->set_generation(generation);
    coordinator_.Say(command);
  }

  proto::Command Grant(int64_t first, int64_t count) {
    proto::Command command;
    command.mutable_grant()->set_job_id(plan_.job_id());
    command.mutable_grant()->set_generation(1);
    proto::Split* split = command.mutable_grant()->add_train();
    split->set_first(first);
    split->set_stride(1);
    split->set_count(count);
    return command;
  }

  void HearBatches(std::set<int64_t> wanted) {
    while (!wanted.empty() && !HasFailure()) {
      const auto message = coordinator_.Hear([](const auto& m) { return m.has_work(); });
      for (const auto& record : message.work().batches()) {
        EXPECT_EQ(wanted.erase(record.batch()), 1u) << record.batch();
        EXPECT_EQ(record.examples(), 4);
      }
    }
  }

  proto::JobPlan plan_;
  TestCluster cluster_;
  FakeCoordinator coordinator_;
  std::unique_ptr<nn::Device> device_;
  std::unique_ptr<WorkerTask> task_;
};

TEST_F(WorkerTaskTest, WorksOnWhatItIsGrantedAndReportsIt) {
  StartJob();
  const auto first = coordinator_.Hear([](const auto& m) { return m.has_work(); });
  EXPECT_GT(first.work().wanted(), 0);
  EXPECT_EQ(first.work().generation(), 1u);
  coordinator_.Say(Grant(0, 30));
  std::set<int64_t> all;
  for (int64_t batch = 0; batch < 30; ++batch) all.insert(batch);
  HearBatches(all);
  for (const auto& ps : cluster_.ps) {
    for (float value : ps->Values()) EXPECT_EQ(value, -30);
  }
}

TEST_F(WorkerTaskTest, RepliesToPauseWorkWhenItsPushesAreAcknowledged) {
  StartJob();
  coordinator_.Say(Grant(0, 80));
  proto::Command pause;
  pause.mutable_pause()->set_pause_id(4);
  coordinator_.Say(pause);
  int64_t reported = 0;
  const auto paused = coordinator_.Hear([&reported](const auto& message) {
    reported += message.work().batches_size();
    return message.has_paused();
  });
  EXPECT_EQ(paused.paused().pause_id(), 4u);
  int64_t returned = 0;
  for (const auto& split : paused.paused().returned()) returned += split.count();
  EXPECT_EQ(reported + returned, 80);
  for (const auto& ps : cluster_.ps) {
    for (float value : ps->Values()) EXPECT_EQ(value, -static_cast<float>(reported));
  }
}

TEST_F(WorkerTaskTest, EvaluatesOnACutWhileTheValuesMoveOn) {
  StartJob();
  coordinator_.Say(Grant(0, 2));
  HearBatches({0, 1});
  for (const auto& ps : cluster_.ps) ASSERT_TRUE(ps->store().MakeCut(7, 1, 1).ok());
  proto::Command command = Grant(2, 3);
  command.mutable_grant()->set_cut(1);
  proto::Split* split = command.mutable_grant()->add_evaluate();
  split->set_first(0);
  split->set_stride(1);
  split->set_count(2);
  coordinator_.Say(command);
  std::set<int64_t> evaluated;
  std::set<int64_t> trained;
  while ((evaluated.size() < 2 || trained.size() < 3) && !HasFailure()) {
    const auto message = coordinator_.Hear([](const auto& m) { return m.has_work(); });
    for (const auto& batch : message.work().batches()) trained.insert(batch.batch());
    for (const auto& batch : message.work().evaluated()) {
      EXPECT_EQ(batch.cut(), 1u);
      EXPECT_EQ(batch.examples(), 4);
      // |600 inputs x weight -2 - (-1e30)| for each of four examples.
      EXPECT_NEAR(batch.loss_sum() / 4e30, 1, 1e-6);
      evaluated.insert(batch.batch());
    }
  }
}

TEST_F(WorkerTaskTest, InspectsTheDataAndSaysWhatIsWrong) {
  proto::Command command;
  command.mutable_inspect()->set_job_id(7);
  *command.mutable_inspect()->mutable_job() = plan_.job();
  *command.mutable_inspect()->mutable_model() = plan_.model();
  coordinator_.Say(command);
  auto reply = coordinator_.Hear([](const auto& m) { return m.has_inspected(); });
  EXPECT_EQ(reply.inspected().error(), "");
  EXPECT_EQ(reply.inspected().examples(), 80);
  EXPECT_EQ(reply.inspected().validation_examples(), 80);
  command.mutable_inspect()->mutable_job()->mutable_train()->mutable_npy()->set_labels(0, "/gone");
  coordinator_.Say(command);
  reply = coordinator_.Hear([](const auto& m) { return m.has_inspected(); });
  EXPECT_THAT(reply.inspected().error(), ::testing::HasSubstr("job field train.npy: "));
  EXPECT_THAT(reply.inspected().error(), ::testing::HasSubstr("/gone"));
}

TEST_F(WorkerTaskTest, AJobThatItCannotDoIsAFailureAndTheNextOneWorks) {
  const proto::JobPlan good = plan_;
  plan_.mutable_job()->mutable_train()->mutable_npy()->set_labels(0, "/gone");
  plan_.set_job_id(6);
  StartJob();
  const auto failed = coordinator_.Hear([](const auto& m) { return m.has_failure(); });
  EXPECT_EQ(failed.failure().job_id(), 6u);
  EXPECT_THAT(failed.failure().error(), ::testing::HasSubstr("/gone"));
  plan_ = good;
  StartJob();
  coordinator_.Say(Grant(0, 3));
  HearBatches({0, 1, 2});
}

TEST_F(WorkerTaskTest, StopsInTimeAlthoughTheParameterServersAreGone) {
  StartJob();
  coordinator_.Say(Grant(0, 3));
  HearBatches({0, 1, 2});
  cluster_.ps.clear();
  coordinator_.Say(Grant(3, 10));
  const absl::Time begin = absl::Now();
  task_->Stop(absl::Milliseconds(200));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20)) << "it waited for an attempt to end";
}

}  // namespace
}  // namespace cairn::worker
