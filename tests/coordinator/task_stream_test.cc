#include "coordinator/task_stream.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/version.h"
#include "tests/coordinator/test_daemon.h"

namespace cairn::coordinator {
namespace {

using ClientStream = grpc::ClientReaderWriter<proto::TaskMessage, proto::Command>;

proto::TaskMessage JoinMessage(uint64_t instance) {
  proto::TaskMessage message;
  message.mutable_join()->set_version(kVersion);
  message.mutable_join()->set_role(proto::WORKER);
  message.mutable_join()->set_index(1);
  message.mutable_join()->set_instance_id(instance);
  return message;
}

class TaskStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string directory =
        absl::StrCat(::testing::TempDir(), "/task_stream_",
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory);
    daemon_ = std::make_unique<TestDaemon>(directory, /*queue_capacity=*/4);
    stub_ = daemon_->MakeStub();
  }

  // The next command that is no heartbeat.
  static proto::Command Read(ClientStream* stream) {
    proto::Command command;
    while (stream->Read(&command)) {
      if (!command.has_heartbeat()) return command;
    }
    ADD_FAILURE() << "the stream has ended";
    return command;
  }

  // A coordinator whose loop has its queue full of messages asks its clients to try again.
  grpc::Status GetCluster(proto::ClusterStatus* status) {
    while (true) {
      grpc::ClientContext context;
      grpc::Status result = stub_->GetCluster(&context, proto::GetClusterRequest(), status);
      if (result.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) return result;
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  bool WorkerIsLive() {
    proto::ClusterStatus status;
    EXPECT_TRUE(GetCluster(&status).ok());
    return std::any_of(status.members().begin(), status.members().end(), [](const auto& member) {
      return member.role() == proto::WORKER && member.live();
    });
  }

  std::unique_ptr<TestDaemon> daemon_;
  std::unique_ptr<proto::Coordinator::Stub> stub_;
};

TEST_F(TaskStreamTest, ATaskIsWelcomedHearsHeartbeatsAndIsGoneWithItsStream) {
  auto context = std::make_unique<grpc::ClientContext>();
  auto stream = stub_->Session(context.get());
  ASSERT_TRUE(stream->Write(JoinMessage(1)));
  proto::Command command;
  ASSERT_TRUE(stream->Read(&command));
  ASSERT_TRUE(command.has_welcome());
  EXPECT_EQ(command.welcome().index(), 1u);
  EXPECT_EQ(command.welcome().term(), 1u);
  EXPECT_EQ(command.welcome().ps_addresses_size(), 2);
  ASSERT_TRUE(stream->Read(&command));
  EXPECT_TRUE(command.has_heartbeat());
  EXPECT_TRUE(WorkerIsLive());
  context->TryCancel();
  stream->Finish();
  for (int i = 0; i < 500 && WorkerIsLive(); ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_FALSE(WorkerIsLive());
}

TEST_F(TaskStreamTest, ATaskThatSaysNoMoreIsAnsweredTheEnd) {
  grpc::ClientContext context;
  auto stream = stub_->Session(&context);
  ASSERT_TRUE(stream->Write(JoinMessage(1)));
  proto::Command command;
  ASSERT_TRUE(stream->Read(&command));
  stream->WritesDone();
  while (stream->Read(&command)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(TaskStreamTest, TheOlderStreamOfTheSameProcessIsToldAndClosed) {
  grpc::ClientContext old_context, new_context;
  auto old_stream = stub_->Session(&old_context);
  ASSERT_TRUE(old_stream->Write(JoinMessage(1)));
  proto::Command command;
  ASSERT_TRUE(old_stream->Read(&command));
  auto new_stream = stub_->Session(&new_context);
  ASSERT_TRUE(new_stream->Write(JoinMessage(1)));
  ASSERT_TRUE(new_stream->Read(&command));
  EXPECT_EQ(command.welcome().incarnation(), 2u);
  proto::Command last;
  while (old_stream->Read(&command)) last = command;
  EXPECT_TRUE(last.has_refused()) << last.ShortDebugString();
  EXPECT_FALSE(last.refused().permanent());
  new_context.TryCancel();
}

TEST_F(TaskStreamTest, MessagesBeforeAJoinAreIgnored) {
  grpc::ClientContext context;
  auto stream = stub_->Session(&context);
  proto::TaskMessage message;
  message.mutable_work()->set_job_id(1);
  ASSERT_TRUE(stream->Write(message));
  ASSERT_TRUE(stream->Write(JoinMessage(1)));
  proto::Command command;
  ASSERT_TRUE(stream->Read(&command));
  EXPECT_TRUE(command.has_welcome());
  context.TryCancel();
}

// A stall of the loop, for example because its disk hangs for a while.
TEST_F(TaskStreamTest, AStallBreaksNoStreamAndNothingIsLost) {
  constexpr int kMessages = 1000;
  grpc::ClientContext context;
  auto stream = stub_->Session(&context);
  ASSERT_TRUE(stream->Write(JoinMessage(1)));
  EXPECT_TRUE(Read(stream.get()).has_welcome());
  std::promise<void> stalled, released;
  ASSERT_TRUE(daemon_->loop().Post([&](Scheduler*, EventTime, Outbox*) {
    stalled.set_value();
    released.get_future().wait();
  }));
  stalled.get_future().wait();
  std::atomic<int> written = 0;
  std::thread writer([&] {
    proto::TaskMessage message;
    for (int i = 0; i < 2000; ++i) message.mutable_profiled()->add_names()->set_name("0123456789");
    for (int i = 0; i < kMessages && stream->Write(message); ++i) ++written;
  });
  absl::SleepFor(absl::Milliseconds(300));
  // The task waits: this process does not buffer what the loop has not handled.
  EXPECT_LT(written, kMessages);
  released.set_value();
  writer.join();
  EXPECT_EQ(written, kMessages);
  EXPECT_TRUE(WorkerIsLive());
  stream->WritesDone();
  proto::Command command;
  while (stream->Read(&command)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(TaskStreamTest, APlanIsSentOnceAndAgainAfterTheTaskHasDroppedIt) {
  grpc::ClientContext context;
  auto stream = stub_->Session(&context);
  ASSERT_TRUE(stream->Write(JoinMessage(1)));
  EXPECT_TRUE(Read(stream.get()).has_welcome());
  proto::JobPlan plan;
  plan.set_job_id(3);
  plan.mutable_job()->set_name(std::string(100000, 'x'));
  const SharedPlanPtr shared = SharePlan(plan);
  proto::Command start;
  start.mutable_start_job()->set_generation(2);
  start.mutable_start_job()->set_plan_fingerprint(shared->fingerprint);
  proto::Command restore;
  restore.mutable_restore()->set_generation(4);
  proto::Command stop;
  stop.mutable_stop_job()->set_job_id(3);
  const uint64_t session = 1;
  SessionRegistry& sessions = daemon_->sessions();
  sessions.Send(session, start, shared);
  sessions.Send(session, start, shared);
  sessions.Send(session, stop);
  sessions.Send(session, restore, shared);
  const proto::StartJob first = Read(stream.get()).start_job();
  EXPECT_EQ(first.plan().SerializeAsString(), plan.SerializeAsString());
  EXPECT_EQ(first.generation(), 2u);
  EXPECT_EQ(first.plan_fingerprint(), shared->fingerprint);
  const proto::StartJob second = Read(stream.get()).start_job();
  EXPECT_FALSE(second.has_plan());
  EXPECT_EQ(second.generation(), 2u);
  EXPECT_TRUE(Read(stream.get()).has_stop_job());
  const proto::Restore third = Read(stream.get()).restore();
  EXPECT_EQ(third.plan().job().name().size(), 100000u);
  EXPECT_EQ(third.generation(), 4u);
  context.TryCancel();
}

TEST_F(TaskStreamTest, ATaskThatHasThePlanDoesNotGetItUnlessItFails) {
  proto::JobPlan plan;
  plan.set_job_id(3);
  const SharedPlanPtr shared = SharePlan(plan);
  proto::Command start;
  start.mutable_start_job()->set_job_id(3);
  grpc::ClientContext context;
  auto stream = stub_->Session(&context);
  proto::TaskMessage join = JoinMessage(1);
  join.mutable_join()->set_cluster_id(7);
  join.mutable_join()->set_plan_fingerprint(shared->fingerprint);
  ASSERT_TRUE(stream->Write(join));
  EXPECT_TRUE(Read(stream.get()).has_welcome());
  daemon_->sessions().Send(1, start, shared);
  EXPECT_FALSE(Read(stream.get()).start_job().has_plan());
  proto::TaskMessage failure;
  failure.mutable_failure()->set_job_id(3);
  ASSERT_TRUE(stream->Write(failure));
  // Until the failure has arrived.
  for (bool sent = false; !sent;) {
    daemon_->sessions().Send(1, start, shared);
    sent = Read(stream.get()).start_job().has_plan();
  }
  context.TryCancel();
}

TEST_F(TaskStreamTest, ALargeInferenceDoesNotEndTheStream) {
  grpc::ClientContext context;
  auto stream = stub_->Session(&context);
  ASSERT_TRUE(stream->Write(JoinMessage(1)));
  EXPECT_TRUE(Read(stream.get()).has_welcome());
  proto::Command start;
  start.mutable_start_inference()->mutable_request()->set_data_name(std::string(3 << 20, 'x'));
  proto::Command grant;
  grant.mutable_grant_inference()->set_inference(5);
  // The task has not read the first one when the second one is sent.
  daemon_->sessions().Send(1, start);
  daemon_->sessions().Send(1, grant);
  EXPECT_EQ(Read(stream.get()).start_inference().request().data_name().size(), 3u << 20);
  EXPECT_EQ(Read(stream.get()).grant_inference().inference(), 5u);
  // The memory for a task that reads nothing is limited.
  for (int i = 0; i < 30; ++i) daemon_->sessions().Send(1, start);
  proto::Command command;
  while (stream->Read(&command)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(TaskStreamTest, ThePlanOfAnotherClusterDoesNotCount) {
  proto::JobPlan plan;
  plan.set_job_id(3);
  const SharedPlanPtr shared = SharePlan(plan);
  proto::Command start;
  start.mutable_start_job()->set_job_id(3);
  grpc::ClientContext context;
  auto stream = stub_->Session(&context);
  proto::TaskMessage join = JoinMessage(1);
  join.mutable_join()->set_cluster_id(8);
  join.mutable_join()->set_plan_fingerprint(shared->fingerprint);
  ASSERT_TRUE(stream->Write(join));
  EXPECT_TRUE(Read(stream.get()).has_welcome());
  daemon_->sessions().Send(1, start, shared);
  EXPECT_TRUE(Read(stream.get()).start_job().has_plan());
  context.TryCancel();
}

TEST_F(TaskStreamTest, BytesThatAreNoMessageEndTheStream) {
  grpc::ClientContext context;
  grpc::GenericStub generic(
      grpc::CreateChannel(daemon_->address(), grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  auto stream = generic.PrepareCall(&context, "/cairn.proto.Coordinator/Session", &queue);
  void* tag = nullptr;
  bool ok = false;
  stream->StartCall(nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  const grpc::Slice slice("\xff\xff\xff");
  stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok));
  grpc::Status status;
  stream->Finish(&status, nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace cairn::coordinator
