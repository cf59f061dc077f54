#include "cli/ps_transfer.h"

#include "cluster/partition_map.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"
#include "tests/cli/fake_cluster.h"

namespace cairn::cli {
namespace {

proto::Manifest Checkpoint(uint64_t number) {
  proto::Manifest manifest;
  manifest.set_checkpoint(number);
  for (uint32_t ps = 0; ps < 2; ++ps) manifest.add_parts()->set_ps(ps);
  return manifest;
}

TEST(PsTransferTest, EveryBlockGoesToItsPsWithItsRows) {
  FakeCluster cluster;
  const auto map = ExamplePlan().partition();
  ASSERT_TRUE(UploadVariables({cluster.ps_addresses(), 99}, 1, map, ExampleValues()).ok());
  const auto uploaded = cluster.uploaded();
  ASSERT_EQ(static_cast<int>(uploaded.size()), map.blocks_size());
  for (const auto& [block, values] : uploaded) {
    const auto variable = ExampleValues()[map.blocks(block).variable()];
    const auto begin = variable.begin() + cluster::BlockOffset(map, block);
    EXPECT_EQ(values, std::vector<float>(begin, begin + cluster::BlockElements(map, block)));
  }
}

TEST(PsTransferTest, BlocksOfACheckpointBecomeVariablesAgain) {
  FakeCluster cluster;
  const auto variables =
      DownloadVariables({cluster.ps_addresses(), 99}, 1, ExamplePlan().partition(), Checkpoint(2));
  ASSERT_TRUE(variables.ok()) << variables.status();
  EXPECT_EQ(*variables, ExampleValues());
}

TEST(PsTransferTest, WhatAPsRefusesIsTheResult) {
  FakeCluster cluster;
  const auto map = ExamplePlan().partition();
  EXPECT_EQ(DownloadVariables({cluster.ps_addresses(), 99}, 1, map, Checkpoint(7)).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(UploadVariables({cluster.ps_addresses(), 98}, 1, map, ExampleValues()).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(UploadVariables({{cluster.ps_addresses()[0]}, 99}, 1, map, ExampleValues()).code(),
            absl::StatusCode::kFailedPrecondition)
      << "the job lives on two ps";
}

}  // namespace
}  // namespace cairn::cli
