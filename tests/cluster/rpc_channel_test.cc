#include "cluster/rpc_channel.h"

#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

namespace cairn::cluster {
namespace {

TEST(BackoffTest, DelaysDoubleUpToTheirLimitWithJitter) {
  Backoff backoff(absl::Milliseconds(100), absl::Seconds(2), 1);
  for (int round = 0; round < 100; ++round) {
    for (double seconds : {0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0}) {
      const absl::Duration delay = backoff.Next();
      EXPECT_GE(delay, absl::Seconds(seconds / 2));
      EXPECT_LE(delay, absl::Seconds(seconds));
    }
    for (int i = 0; i < 100; ++i) EXPECT_LE(backoff.Next(), absl::Seconds(2));
    backoff.Reset();
  }
}

TEST(BackoffTest, SeedsGiveDifferentDelays) {
  Backoff one(absl::Seconds(1), absl::Seconds(1), RandomSeed());
  Backoff other(absl::Seconds(1), absl::Seconds(1), RandomSeed());
  EXPECT_NE(one.Next(), other.Next());
}

RetryPolicy QuickPolicy(absl::Duration give_up_after = absl::Hours(1)) {
  RetryPolicy policy;
  policy.give_up_after = give_up_after;
  policy.first_delay = absl::Milliseconds(1);
  policy.max_delay = absl::Milliseconds(5);
  return policy;
}

TEST(CallWithRetryTest, TransientErrorsAreRetried) {
  int calls = 0;
  const absl::Status status = CallWithRetry(QuickPolicy(), [&](grpc::ClientContext*) {
    return ++calls < 4 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "soon") : grpc::Status::OK;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(calls, 4);
}

TEST(CallWithRetryTest, PermanentErrorsAreReturned) {
  int calls = 0;
  const absl::Status status = CallWithRetry(QuickPolicy(), [&](grpc::ClientContext*) {
    ++calls;
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no job 7");
  });
  EXPECT_EQ(status, absl::NotFoundError("no job 7"));
  EXPECT_EQ(calls, 1);
}

TEST(CallWithRetryTest, ItGivesUpAfterItsTimeout) {
  int calls = 0;
  const absl::Time begin = absl::Now();
  const absl::Status status =
      CallWithRetry(QuickPolicy(absl::Milliseconds(50)), [&](grpc::ClientContext*) {
        ++calls;
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "nobody there");
      });
  EXPECT_EQ(status, absl::UnavailableError("nobody there"));
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(45)) << "its last delay would end later";
  EXPECT_GE(calls, 1);
}

}  // namespace
}  // namespace cairn::cluster
