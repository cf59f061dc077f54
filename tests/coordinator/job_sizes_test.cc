#include "coordinator/job_sizes.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

MembershipOptions Options() {
  MembershipOptions options;
  options.ps_addresses = {"a:1", "b:2"};
  return options;
}

class JobSizesTest : public ::testing::Test {
 protected:
  void Join(proto::Role role, int64_t index, const std::string& host, int64_t memory) {
    proto::Join join;
    join.set_role(role);
    join.set_index(index);
    join.set_instance_id(++session_);
    join.set_host(host);
    join.set_memory_limit_bytes(memory);
    ASSERT_FALSE(members_.Join(session_, join, absl::Seconds(1)).refused.has_value());
  }
  void Disk(uint32_t ps, int64_t free) {
    proto::Heartbeat heartbeat;
    heartbeat.set_disk_free_bytes(free);
    members_.OnHeartbeat(PsTask(ps), heartbeat);
  }
  std::string Refusal(const std::vector<PsSize>& sizes) {
    return std::string(CheckSizes(sizes, job_, members_).refused.message());
  }
  std::string Warning(const std::vector<PsSize>& sizes) {
    return CheckSizes(sizes, job_, members_).warning;
  }

  Membership members_{Options()};
  uint64_t session_ = 0;
  proto::Job job_;
};

TEST_F(JobSizesTest, BlocksCountWithTheirSlots) {
  proto::PartitionMap partition;
  partition.set_ps_count(2);
  std::vector<nn::VariableSpec> variables(2);
  variables[1].update = nn::VariableSpec::Update::kFrozen;
  for (uint32_t i = 0; i < 2; ++i) {
    proto::PartitionMap::Variable* variable = partition.add_variables();
    variable->add_shape(10);
    variable->add_shape(5);
    proto::PartitionMap::Block* block = partition.add_blocks();
    block->set_variable(i);
    block->set_row_end(10);
    block->set_ps(i);
  }
  proto::Job job;
  job.mutable_optimizer()->set_name("adam");
  const auto rules = job::VariableRules::Create(job, proto::ModelSpec(), variables);
  ASSERT_TRUE(rules.ok());
  const std::vector<PsSize> sizes = ComputeSizes(partition, variables, *rules);
  EXPECT_EQ(sizes[0].values, 200);
  EXPECT_EQ(sizes[0].slots, 400);
  EXPECT_EQ(sizes[1].values, 200);
  EXPECT_EQ(sizes[1].slots, 0);
}

// Each ps has two states of all blocks.
TEST_F(JobSizesTest, ReplicasCountInMemoryAndNotOnTheDisk) {
  std::vector<PsSize> sizes = {{3 * kGiB, 6 * kGiB}, {2 * kGiB, 4 * kGiB}};
  AddReplicas(&sizes);
  EXPECT_EQ(sizes[0].replicas, 21 * kGiB);
  EXPECT_EQ(sizes[1].replicas, 24 * kGiB);
  EXPECT_EQ(sizes[1].total(), 6 * kGiB);
  Join(proto::PS, 0, "h", 30 * kGiB);
  Join(proto::PS, 1, "i", 29 * kGiB);
  EXPECT_EQ(Refusal(sizes),
            "the job does not fit into the memory of ps 1: its blocks need 30.0 GiB (values 2.0 "
            "GiB, optimizer 4.0 GiB, replicas 24.0 GiB), the limit is 29.0 GiB; use a smaller "
            "model, or \"replicas\": false in the strategy");
}

TEST_F(JobSizesTest, WhatIsNotKnownIsNotJudged) {
  const std::vector<PsSize> huge = {{1000 * kGiB, 0}, {1000 * kGiB, 0}};
  EXPECT_EQ(Refusal(huge), "");
  Join(proto::PS, 0, "h", 0);
  EXPECT_EQ(Refusal(huge), "");
}

TEST_F(JobSizesTest, EachPsHasItsLimitAndThoseOfAHostShareItsMemory) {
  Join(proto::PS, 0, "h", 8 * kGiB);
  Join(proto::PS, 1, "other", 2 * kGiB);
  EXPECT_EQ(Refusal({{4 * kGiB, 4 * kGiB}, {kGiB, 0}}), "");
  EXPECT_TRUE(absl::StrContains(Warning({{4 * kGiB, 0}, {2 * kGiB, 0}}), "ps 1 on host other"));
  EXPECT_EQ(Warning({{kGiB, 0}, {kGiB, 0}}), "");
  const std::string refusal = Refusal({{4 * kGiB, 0}, {kGiB, 2 * kGiB}});
  EXPECT_TRUE(absl::StrContains(refusal,
                                "the memory of ps 1: its blocks need 3.0 GiB (values "
                                "1.0 GiB, optimizer 2.0 GiB), the limit is 2.0 GiB"))
      << refusal;
}

TEST_F(JobSizesTest, ThePsOfOneHostShareItsMemory) {
  Join(proto::PS, 0, "h", 8 * kGiB);
  Join(proto::PS, 1, "h", 8 * kGiB);
  EXPECT_EQ(Refusal({{4 * kGiB, 0}, {4 * kGiB, 0}}), "");
  EXPECT_TRUE(absl::StrContains(Refusal({{5 * kGiB, 0}, {4 * kGiB, 0}}),
                                "ps 0, ps 1 on host h: its blocks need 9.0 GiB"));
  // Their own limits are lower than the machine's memory, which a worker knows.
  Join(proto::WORKER, 0, "h", 16 * kGiB);
  EXPECT_EQ(Refusal({{5 * kGiB, 0}, {4 * kGiB, 0}}), "");
}

TEST_F(JobSizesTest, TheCheckpointsThatAreKeptFitOntoTheDisk) {
  Join(proto::PS, 0, "a", 0);
  Join(proto::PS, 1, "b", 0);
  Disk(0, 10 * kGiB);
  Disk(1, 10 * kGiB);
  // One checkpoint, with the copy of the neighbor's part.
  EXPECT_EQ(Refusal({{5 * kGiB, 0}, {5 * kGiB, 0}}), "");
  EXPECT_TRUE(absl::StrContains(Refusal({{6 * kGiB, 0}, {5 * kGiB, 0}}),
                                "the disk of ps 0: 1 checkpoints need 11.0 GiB (6.0 GiB each, and "
                                "5.0 GiB for the copy of another ps), 10.0 GiB are free"));
  job_.mutable_checkpoint()->set_copies(1);
  EXPECT_EQ(Refusal({{6 * kGiB, 0}, {5 * kGiB, 0}}), "");
  job_.set_epochs(20);  // Three are kept while the fourth is written.
  EXPECT_NE(Refusal({{3 * kGiB, 0}, {kGiB, 0}}), "");
  job_.mutable_checkpoint()->set_keep(1);
  EXPECT_EQ(Refusal({{3 * kGiB, 0}, {kGiB, 0}}), "");
  job_.mutable_checkpoint()->set_every_epochs(20);
  EXPECT_EQ(Refusal({{9 * kGiB, 0}, {kGiB, 0}}), "");
}

TEST_F(JobSizesTest, APsThatEndsWhileItLoadsMayHaveNeededTooMuch) {
  Join(proto::PS, 0, "h", 8 * kGiB);
  Join(proto::PS, 1, "h", 8 * kGiB);
  std::string text;
  EXPECT_TRUE(MayExhaust(std::vector<PsSize>{{4 * kGiB, 0}, {3 * kGiB, 0}}, 1, members_, &text));
  EXPECT_EQ(text, "it needs 7.0 GiB of 8.0 GiB");
  EXPECT_FALSE(MayExhaust(std::vector<PsSize>{{kGiB / 8, 0}, {kGiB / 8, 0}}, 1, members_, &text));
}

}  // namespace
}  // namespace cairn::coordinator
