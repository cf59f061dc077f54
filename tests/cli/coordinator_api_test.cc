#include "cli/coordinator_api.h"

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"
#include "tests/cli/fake_cluster.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

TEST(CoordinatorApiTest, CallsAreAnsweredByTheCoordinator) {
  FakeCluster cluster;
  CoordinatorApi api(cluster.address(), absl::Seconds(20));
  EXPECT_EQ(api.ListJobs()->jobs_size(), 1);
  EXPECT_EQ(api.GetJob("example")->job_id(), 1u);
  EXPECT_EQ(api.CancelJob("1")->state(), proto::CANCELLED);
  EXPECT_EQ(api.GetPlan("1")->total_batches(), 6);
  EXPECT_EQ(api.ListCheckpoints("1")->manifests_size(), 1);
  EXPECT_EQ(api.TakeCheckpoint("1", absl::Seconds(20))->checkpoint(), 2u);
  EXPECT_EQ(api.GetCluster()->ps_addresses_size(), 2);
  EXPECT_EQ(api.GetJob("nobody").status().code(), absl::StatusCode::kNotFound);
}

TEST(CoordinatorApiTest, HistoryComesInChunks) {
  FakeCluster cluster;
  CoordinatorApi api(cluster.address(), absl::Seconds(20));
  int batches = 0;
  ASSERT_TRUE(
      api.ReadHistory("1",
                      [&](const proto::HistoryChunk& chunk) { batches += chunk.batches_size(); })
          .ok());
  EXPECT_EQ(batches, 5);
}

TEST(CoordinatorApiTest, AddressWithoutACoordinatorIsNamed) {
  CoordinatorApi api("127.0.0.1:1", absl::Milliseconds(100));
  const absl::Status status = api.ListJobs().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(api.Follow("1", [](const proto::JobStatus&) {}).code(), absl::StatusCode::kUnavailable);
}

TEST(CoordinatorApiTest, ARefusedConnectionFailsAtOnceUnlessToldToWait) {
  // Longer than the time limit of any test.
  CoordinatorApi api("127.0.0.1:1", absl::Hours(1));
  const absl::Status refused = absl::UnavailableError(
      "cannot reach the coordinator at 127.0.0.1:1 (connection refused); is the cluster running, "
      "and is "
      "this its address?");
  EXPECT_EQ(api.ListJobs().status(), refused);
  EXPECT_EQ(api.TakeCheckpoint("1", absl::Hours(1)).status(), refused);
  EXPECT_EQ(api.ReadHistory("1", [](const proto::HistoryChunk&) {}), refused);
  EXPECT_EQ(api.Follow("1", [](const proto::JobStatus&) {}), refused);
  CoordinatorApi waiting("127.0.0.1:1", absl::Milliseconds(100),
                         CoordinatorApi::WhenRefused::kWait);
  EXPECT_THAT(std::string(waiting.ListJobs().status().message()),
              HasSubstr("no connection within 100ms"));
}

TEST(CoordinatorApiTest, CancelledFollowEndsAndNoneBeginsAfterwards) {
  FakeCluster cluster;
  cluster.set_followed({ExampleStatus()});
  CoordinatorApi api(cluster.address(), absl::Seconds(20));
  api.CancelFollow();
  EXPECT_EQ(api.Follow("1", [](const proto::JobStatus&) {}).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(cluster.follows(), 0);
}

}  // namespace
}  // namespace cairn::cli
