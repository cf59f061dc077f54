#include "coordinator/task_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

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
    daemon_ = std::make_unique<TestDaemon>(directory);
    stub_ = daemon_->MakeStub();
  }

  bool WorkerIsLive() {
    grpc::ClientContext context;
    proto::ClusterStatus status;
    EXPECT_TRUE(stub_->GetCluster(&context, proto::GetClusterRequest(), &status).ok());
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

}  // namespace
}  // namespace cairn::coordinator
