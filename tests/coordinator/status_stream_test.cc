#include "coordinator/status_stream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/job_records.h"
#include "tests/coordinator/test_daemon.h"

namespace cairn::coordinator {
namespace {

// A daemon with one job that waits for its weights.
class StatusStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = absl::StrCat(::testing::TempDir(), "/status_stream_",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    auto journal = *storage::Journal::Open(directory_);
    proto::JobRecord job;
    job.set_job_id(1);
    job.mutable_job()->set_name("waits");
    job.set_state(proto::UPLOADING);
    job.mutable_partition()->set_ps_count(1);
    const std::vector<storage::Journal::Change> changes = {
        {storage::JobKey(1), job.SerializeAsString()}};
    ASSERT_TRUE(journal->Write(changes, /*sync=*/false).ok());
    journal.reset();
    daemon_ = std::make_unique<TestDaemon>(directory_);
    stub_ = daemon_->MakeStub();
    reference_.set_job("waits");
  }

  std::string directory_;
  std::unique_ptr<TestDaemon> daemon_;
  std::unique_ptr<proto::Coordinator::Stub> stub_;
  proto::JobReference reference_;
};

TEST_F(StatusStreamTest, FollowersSeeTheFirstAndTheLastStatus) {
  grpc::ClientContext context, cancel_context;
  auto reader = stub_->FollowJob(&context, reference_);
  proto::JobStatus status;
  ASSERT_TRUE(reader->Read(&status));
  EXPECT_EQ(status.state(), proto::UPLOADING);
  proto::JobStatus cancelled;
  ASSERT_TRUE(stub_->CancelJob(&cancel_context, reference_, &cancelled).ok());
  while (reader->Read(&status)) {
  }
  EXPECT_EQ(status.state(), proto::CANCELLED);
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(StatusStreamTest, AFollowerThatGoesAwayIsForgotten) {
  {
    grpc::ClientContext context;
    auto reader = stub_->FollowJob(&context, reference_);
    proto::JobStatus status;
    ASSERT_TRUE(reader->Read(&status));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  grpc::ClientContext context;
  proto::JobStatus status;
  EXPECT_TRUE(stub_->CancelJob(&context, reference_, &status).ok());
}

TEST_F(StatusStreamTest, TheServerEndsWhileAClientFollows) {
  grpc::ClientContext context;
  auto reader = stub_->FollowJob(&context, reference_);
  proto::JobStatus status;
  ASSERT_TRUE(reader->Read(&status));
  daemon_.reset();
  EXPECT_FALSE(reader->Read(&status));
}

}  // namespace
}  // namespace cairn::coordinator
