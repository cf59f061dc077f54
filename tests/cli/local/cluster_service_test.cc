#include "cli/local/cluster_service.h"

#include "cli/local/state_lock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/fake_cluster.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

// tests/end_to_end/up_down_test.cc tests the service with real daemons: how it runs, restarts and
// stops them.

TEST(ClusterServiceTest, AStateThatIsInUseIsLeftAlone) {
  LocalClusterOptions options;
  options.state = testing::TempDir() + "/cluster_service_used";
  const auto lock = StateLock::Take(options.state, "cairn run");
  ASSERT_TRUE(lock.ok()) << lock.status();
  const auto result = ServeCluster(options, [](const std::string&) {});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("in use by cairn run"));
}

TEST(ClusterServiceTest, WithoutItsProgramsItEndsAndLeavesTheStateFree) {
  LocalClusterOptions options;
  options.state = testing::TempDir() + "/cluster_service_bare";
  options.programs_folder = "/no/such/programs";
  const auto result = ServeCluster(options, [](const std::string&) {});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(IsStateLocked(options.state));
}

TEST(ClusterServiceTest, TheCheckpointBeforeAStopIsToldToPeople) {
  FakeCluster cluster;
  CoordinatorApi api(cluster.address(), absl::Seconds(20));
  const auto line = CheckpointBeforeStop(&api);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line, "checkpoint 2 of job 1 holds 6 batches");
}

}  // namespace
}  // namespace cairn::cli
