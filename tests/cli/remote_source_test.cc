#include "cli/remote_source.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"
#include "tests/cli/fake_cluster.h"

namespace cairn::cli {
namespace {

TEST(RemoteSourceTest, JobsComeFromTheCoordinatorAndValuesFromThePs) {
  FakeCluster cluster;
  CoordinatorApi api(cluster.address(), absl::Seconds(20));
  RemoteSource source(&api);
  EXPECT_EQ((*source.ListJobs())[0].name(), "example");
  EXPECT_EQ(source.GetJob("example")->state(), proto::FINISHED);
  const auto list = source.ListCheckpoints("1");
  ASSERT_TRUE(list.ok()) << list.status();
  const auto plan = source.GetPlan("1");
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto values = source.ReadVariables(*plan, list->manifests(0));
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(*values, ExampleValues());
}

}  // namespace
}  // namespace cairn::cli
