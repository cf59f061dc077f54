#include "cluster/grpc_status.h"

#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

namespace cairn::cluster {
namespace {

TEST(GrpcStatusTest, EveryCodeRoundTrips) {
  EXPECT_TRUE(FromGrpc(ToGrpc(absl::OkStatus())).ok());
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "what happened");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
  }
  EXPECT_EQ(ToGrpc(absl::DataLossError("x")).error_code(), grpc::StatusCode::DATA_LOSS);
}

TEST(GrpcStatusTest, ErrorsOfTheConnectionAreTransient) {
  for (const grpc::StatusCode code : {grpc::StatusCode::UNKNOWN, grpc::StatusCode::INTERNAL}) {
    EXPECT_EQ(FromGrpc(grpc::Status(code, "Stream removed")),
              absl::UnavailableError("Stream removed"));
  }
  const std::string other_code = ToGrpc(absl::AbortedError("")).error_details();
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::NOT_FOUND, "x", other_code)),
            absl::UnavailableError("x"));
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::CANCELLED, "x")), absl::CancelledError("x"));
}

TEST(GrpcStatusTest, ErrorsOfTheServerAreMarked) {
  EXPECT_TRUE(IsFromServer(grpc::Status::OK));
  EXPECT_TRUE(IsFromServer(ToGrpc(absl::UnavailableError("x"))));
  EXPECT_FALSE(IsFromServer(grpc::Status(grpc::StatusCode::UNAVAILABLE, "Bad :te header")));
}

TEST(GrpcStatusTest, LongMessagesAreTruncated) {
  const grpc::Status status = ToGrpc(absl::InternalError(std::string(100000, 'x')));
  EXPECT_EQ(status.error_message().size(), 2003u);
}

TEST(GrpcStatusTest, TransientCodesAreRecognized) {
  EXPECT_TRUE(IsTransient(absl::UnavailableError("")));
  EXPECT_TRUE(IsTransient(absl::DeadlineExceededError("")));
  EXPECT_TRUE(IsTransient(absl::ResourceExhaustedError("")));
  EXPECT_TRUE(IsTransient(absl::DataLossError("")));
  EXPECT_FALSE(IsTransient(absl::OkStatus()));
  EXPECT_FALSE(IsTransient(absl::FailedPreconditionError("")));
  EXPECT_FALSE(IsTransient(absl::AbortedError("")));
  EXPECT_FALSE(IsTransient(absl::CancelledError("")));
  EXPECT_FALSE(IsTransient(absl::InvalidArgumentError("")));
}

}  // namespace
}  // namespace cairn::cluster
