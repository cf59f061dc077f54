#include "coordinator/inference_stream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "tests/coordinator/test_daemon.h"

namespace cairn::coordinator {
namespace {

// A daemon without workers.
class InferenceStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = absl::StrCat(::testing::TempDir(), "/inference_stream_",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    daemon_ = std::make_unique<TestDaemon>(directory_);
    stub_ = daemon_->MakeStub();
    request_.set_client_version(kVersion);
  }

  std::string directory_;
  std::unique_ptr<TestDaemon> daemon_;
  std::unique_ptr<proto::Coordinator::Stub> stub_;
  proto::InferenceRequest request_;
};

TEST_F(InferenceStreamTest, AClientIsToldWhatItWaitsFor) {
  grpc::ClientContext context;
  auto reader = stub_->Infer(&context, request_);
  proto::InferenceChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.waiting_for(), "for workers");
  // One that goes away makes place for the next.
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  grpc::ClientContext next;
  reader = stub_->Infer(&next, request_);
  do {
    ASSERT_TRUE(reader->Read(&chunk));
  } while (chunk.waiting_for() != "for workers");
}

TEST_F(InferenceStreamTest, AnotherVersionIsRefused) {
  request_.set_client_version("0.0.1");
  grpc::ClientContext context;
  auto reader = stub_->Infer(&context, request_);
  proto::InferenceChunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(InferenceStreamTest, TheServerEndsWhileAClientWaits) {
  grpc::ClientContext context;
  auto reader = stub_->Infer(&context, request_);
  proto::InferenceChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  daemon_.reset();
  EXPECT_FALSE(reader->Read(&chunk));
}

}  // namespace
}  // namespace cairn::coordinator
