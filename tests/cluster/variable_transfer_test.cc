#include "cluster/variable_transfer.h"

#include "cluster/partition_map.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"
#include "tests/cli/fake_cluster.h"

namespace cairn::cluster {
namespace {

using cli::ExamplePlan;
using cli::ExampleValues;
using cli::FakeCluster;

proto::Manifest Checkpoint(uint64_t number) {
  proto::Manifest manifest;
  manifest.set_checkpoint(number);
  for (uint32_t ps = 0; ps < 2; ++ps) manifest.add_parts()->set_ps(ps);
  return manifest;
}

TEST(VariableTransferTest, EveryBlockGoesToItsPsWithItsRows) {
  FakeCluster cluster;
  const auto map = ExamplePlan().partition();
  ASSERT_TRUE(UploadVariables({cluster.ps_addresses(), 99}, 1, map, ExampleValues()).ok());
  const auto uploaded = cluster.uploaded();
  ASSERT_EQ(static_cast<int>(uploaded.size()), map.blocks_size());
  for (const auto& [block, values] : uploaded) {
    const auto variable = ExampleValues()[map.blocks(block).variable()];
    const auto begin = variable.begin() + BlockOffset(map, block);
    EXPECT_EQ(values, std::vector<float>(begin, begin + BlockElements(map, block)));
  }
}

TEST(VariableTransferTest, BlocksOfACheckpointBecomeVariablesAgain) {
  FakeCluster cluster;
  const auto variables =
      DownloadVariables({cluster.ps_addresses(), 99}, 1, ExamplePlan().partition(), Checkpoint(2));
  ASSERT_TRUE(variables.ok()) << variables.status();
  EXPECT_EQ(*variables, ExampleValues());
}

TEST(VariableTransferTest, WhatAPsRefusesIsTheResult) {
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

TEST(VariableTransferTest, ACheckpointWithoutThePartOfAPsIsRefused) {
  FakeCluster cluster;
  const auto map = ExamplePlan().partition();
  for (const uint32_t missing : {0, 1}) {
    proto::Manifest checkpoint = Checkpoint(2);
    checkpoint.mutable_parts()->DeleteSubrange(static_cast<int>(missing), 1);
    const PsEndpoints ps = {cluster.ps_addresses(), 99};
    const auto values = DownloadVariables(ps, 1, map, checkpoint);
    EXPECT_TRUE(absl::IsDataLoss(values.status())) << values.status();
    EXPECT_THAT(std::string(values.status().message()),
                testing::HasSubstr(" of dense/kernel: the part of ps " + std::to_string(missing)));
    const auto states = DownloadStates(ps, 1, map, checkpoint);
    EXPECT_TRUE(absl::IsDataLoss(states.status())) << states.status();
  }
}

// Rows 0 and 1 of the kernel, and the bias.
class AddBlockStateTest : public ::testing::Test {
 protected:
  proto::BlockHeader Header(uint32_t block) {
    const auto& placed = map_.blocks(static_cast<int>(block));
    proto::BlockHeader header;
    header.set_variable(map_.variables(static_cast<int>(placed.variable())).name());
    header.set_row_begin(placed.row_begin());
    header.set_row_end(placed.row_end());
    header.set_version(5);
    header.add_slots("momentum");
    return header;
  }
  // The values are those of the example, the slot is `slot`.
  std::string Payload(uint32_t block, float slot) {
    const auto variable = ExampleValues()[map_.blocks(static_cast<int>(block)).variable()];
    std::string bytes(reinterpret_cast<const char*>(variable.data() + BlockOffset(map_, block)),
                      BlockBytes(map_, block));
    for (int64_t i = 0; i < BlockElements(map_, block); ++i) {
      bytes.append(reinterpret_cast<const char*>(&slot), sizeof(slot));
    }
    return bytes;
  }
  absl::Status Add(uint32_t block, const proto::BlockHeader& header, const std::string& payload) {
    return AddBlockState(map_, block, header.SerializeAsString(), payload, &states_);
  }

  const proto::PartitionMap map_ = ExamplePlan().partition();
  std::vector<VariableState> states_{static_cast<size_t>(map_.variables_size())};
};

TEST_F(AddBlockStateTest, BlocksBecomeVariablesWithTheirSlots) {
  for (uint32_t block = 0; block < static_cast<uint32_t>(map_.blocks_size()); ++block) {
    ASSERT_TRUE(Add(block, Header(block), Payload(block, 7)).ok());
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    EXPECT_EQ(states_[i].values, ExampleValues()[i]);
    EXPECT_EQ(states_[i].version, 5);
    EXPECT_EQ(states_[i].slots, std::vector<std::string>{"momentum"});
    EXPECT_EQ(states_[i].slot_values[0], std::vector<float>(states_[i].values.size(), 7));
  }
}

TEST_F(AddBlockStateTest, DamagedBlocksAreRefused) {
  proto::BlockHeader other = Header(0);
  other.set_variable("other");
  EXPECT_TRUE(absl::IsDataLoss(Add(0, other, Payload(0, 7))));
  other = Header(0);
  other.set_row_end(1000);
  EXPECT_TRUE(absl::IsDataLoss(Add(0, other, Payload(0, 7))));
  other = Header(0);
  other.set_version(-1);
  EXPECT_TRUE(absl::IsDataLoss(Add(0, other, Payload(0, 7))));
  other = Header(0);
  other.add_slots("velocity");
  EXPECT_TRUE(absl::IsDataLoss(Add(0, other, Payload(0, 7)))) << "a slot is missing";
  EXPECT_TRUE(absl::IsDataLoss(Add(0, Header(0), Payload(0, 7) + "x")));
  EXPECT_TRUE(absl::IsDataLoss(Add(0, Header(0), "")));
  EXPECT_TRUE(absl::IsDataLoss(AddBlockState(map_, 0, "garbage", Payload(0, 7), &states_)));
  // Blocks of one variable have the same number of updates.
  ASSERT_EQ(map_.blocks(0).variable(), map_.blocks(1).variable());
  ASSERT_TRUE(Add(0, Header(0), Payload(0, 7)).ok());
  other = Header(1);
  other.set_version(4);
  EXPECT_TRUE(absl::IsDataLoss(Add(1, other, Payload(1, 7))));
}

}  // namespace
}  // namespace cairn::cluster
