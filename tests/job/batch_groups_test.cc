#include "job/batch_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "worker/data/batch_sampler.h"

namespace cairn::job {
namespace {

proto::JobPlan Plan(int64_t examples, int64_t batch_size) {
  proto::JobPlan plan;
  plan.set_examples(examples);
  plan.set_batch_size(batch_size);
  plan.set_batches_per_pass((examples - 1) / batch_size + 1);
  plan.set_batches_per_epoch(plan.batches_per_pass());
  plan.set_seed(5);
  return plan;
}

proto::JobPlan PlanOfFiles(const std::vector<int64_t>& files, int64_t batch_size) {
  int64_t examples = 0;
  for (const int64_t file : files) examples += file;
  proto::JobPlan plan = Plan(examples, batch_size);
  for (const int64_t file : files) plan.mutable_data()->add_train_index()->set_examples(file);
  return plan;
}

TEST(BatchGroupsTest, AGroupHasTheBatchesThatBeginInAFile) {
  const BatchGroups groups = BatchGroups::ForTraining(PlanOfFiles({100, 30, 5, 200}, 10));
  ASSERT_FALSE(groups.empty());
  EXPECT_EQ(groups.Range(0), std::pair(int64_t{0}, int64_t{10}));
  EXPECT_EQ(groups.Range(1), std::pair(int64_t{10}, int64_t{13}));
  EXPECT_EQ(groups.Range(2), std::pair(int64_t{13}, int64_t{14}));
  EXPECT_EQ(groups.Range(3), std::pair(int64_t{14}, int64_t{34}));
  // The second pass.
  EXPECT_EQ(groups.Range(4), std::pair(int64_t{34}, int64_t{44}));
  for (int64_t batch = 0; batch < 100; ++batch) {
    const auto [begin, end] = groups.Range(groups.Of(batch));
    EXPECT_TRUE(begin <= batch && batch < end) << batch;
  }
}

TEST(BatchGroupsTest, AFileWithoutABatchOfItsOwnHasNoGroup) {
  const BatchGroups groups = BatchGroups::ForTraining(PlanOfFiles({98, 1, 0, 201}, 10));
  EXPECT_EQ(groups.Range(0), std::pair(int64_t{0}, int64_t{10}));
  EXPECT_EQ(groups.Range(1), std::pair(int64_t{10}, int64_t{30}));
  EXPECT_EQ(groups.Range(2), std::pair(int64_t{30}, int64_t{40}));
}

TEST(BatchGroupsTest, ADroppedRemainderIsInNoGroup) {
  proto::JobPlan plan = PlanOfFiles({45, 50}, 10);
  plan.set_batches_per_pass(9);
  const BatchGroups groups = BatchGroups::ForTraining(plan);
  EXPECT_EQ(groups.Range(1), std::pair(int64_t{5}, int64_t{9}));
  EXPECT_EQ(groups.Range(2), std::pair(int64_t{9}, int64_t{14}));
}

TEST(BatchGroupsTest, DataWithoutPartsHaveNoGroups) {
  EXPECT_TRUE(BatchGroups::ForTraining(Plan(1000, 10)).empty());
  EXPECT_TRUE(BatchGroups::ForTraining(PlanOfFiles({1000}, 10)).empty());
  // A file for a batch, or less.
  EXPECT_TRUE(BatchGroups::ForTraining(PlanOfFiles({10, 10, 10}, 10)).empty());
  EXPECT_TRUE(BatchGroups::ForTraining(PlanOfFiles(std::vector<int64_t>(100, 1), 10)).empty());
  // All rows are shuffled together.
  proto::JobPlan shuffled = PlanOfFiles({100, 100}, 10);
  shuffled.set_shuffle(true);
  EXPECT_TRUE(BatchGroups::ForTraining(shuffled).empty());
  // A pipeline leaves rows out.
  proto::JobPlan fewer = PlanOfFiles({100, 100}, 10);
  fewer.set_examples(150);
  EXPECT_TRUE(BatchGroups::ForTraining(fewer).empty());
}

TEST(BatchGroupsTest, AnAbsurdShuffleBlockIsOneGroup) {
  proto::JobPlan plan = Plan(1000, 10);
  plan.set_shuffle(true);
  plan.mutable_job()->set_shuffle_block(INT64_MAX);
  EXPECT_TRUE(BatchGroups::ForTraining(plan).empty());
}

// With the order of the worker: a block of rows is read in one group of each pass, except where a
// batch or the incomplete block lies on a boundary.
TEST(BatchGroupsTest, AShuffledBlockIsReadInOneGroup) {
  constexpr int64_t kBlock = 24;
  proto::JobPlan plan = Plan(/*examples=*/20'005, /*batch_size=*/16);
  plan.set_shuffle(true);
  plan.mutable_job()->set_shuffle_block(kBlock);
  const BatchGroups groups = BatchGroups::ForTraining(plan);
  ASSERT_FALSE(groups.empty());
  const auto sampler = worker::BatchSampler::ForTraining(plan);
  for (const int64_t pass : {0, 1}) {
    std::map<int64_t, std::set<int64_t>> groups_of;
    std::vector<int64_t> examples;
    for (int64_t i = 0; i < plan.batches_per_pass(); ++i) {
      const int64_t batch = pass * plan.batches_per_pass() + i;
      sampler.ExamplesOf(batch, &examples);
      for (const int64_t example : examples) {
        groups_of[example / kBlock].insert(groups.Of(batch));
      }
    }
    int64_t total = 0;
    for (const auto& [block, numbers] : groups_of) {
      EXPECT_LE(numbers.size(), 2u);
      total += static_cast<int64_t>(numbers.size());
    }
    EXPECT_LE(total, 1.5 * static_cast<double>(groups_of.size()));
  }
}

}  // namespace
}  // namespace cairn::job
