#include "worker/data/batch_sampler.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

std::vector<int64_t> ExamplesOf(const BatchSampler& order, int64_t batch) {
  std::vector<int64_t> indices;
  order.ExamplesOf(batch, &indices);
  return indices;
}

std::vector<int64_t> EpochOf(const BatchSampler& order, int64_t epoch) {
  std::vector<int64_t> all;
  for (int64_t b = 0; b < order.batches_per_pass(); ++b) {
    const auto batch = ExamplesOf(order, epoch * order.batches_per_pass() + b);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(BatchSamplerTest, WithoutShuffleBatchesStandInFileOrderAndTheLastIsSmaller) {
  const BatchSampler order(10, 4, false, 0);
  EXPECT_EQ(order.batches_per_pass(), 3);
  EXPECT_EQ(ExamplesOf(order, 1), (std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(ExamplesOf(order, 2), (std::vector<int64_t>{8, 9}));
  EXPECT_EQ(ExamplesOf(order, 3), ExamplesOf(order, 0));
}

TEST(BatchSamplerTest, EveryEpochHasEachExampleExactlyOnceInANewOrder) {
  const BatchSampler order(1003, 32, true, 5);
  std::vector<int64_t> all(1003);
  std::iota(all.begin(), all.end(), 0);
  auto first = EpochOf(order, 0);
  auto second = EpochOf(order, 1);
  EXPECT_NE(first, second);
  EXPECT_NE(first, all);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, all);
  EXPECT_EQ(second, all);
}

TEST(BatchSamplerTest, ABatchIsTheSameInAnyObjectAndOrderOfCalls) {
  const BatchSampler one(500, 7, true, 9);
  const BatchSampler other(500, 7, true, 9);
  for (int64_t batch = 300; batch >= 0; --batch) ExamplesOf(one, batch);
  EXPECT_EQ(ExamplesOf(one, 123), ExamplesOf(other, 123));
  EXPECT_NE(ExamplesOf(one, 123), ExamplesOf(BatchSampler(500, 7, true, 10), 123));
}

proto::JobPlan TenExamples() {
  proto::JobPlan plan;
  plan.set_examples(10);
  plan.set_batch_size(4);
  plan.set_batches_per_epoch(3);
  plan.set_batches_per_pass(3);
  return plan;
}

TEST(BatchSamplerTest, ADroppedRemainderIsInNoBatch) {
  proto::JobPlan plan = TenExamples();
  plan.set_batches_per_epoch(2);
  plan.set_batches_per_pass(2);
  const BatchSampler order = BatchSampler::ForTraining(plan);
  EXPECT_EQ(ExamplesOf(order, 1), (std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(ExamplesOf(order, 2), (std::vector<int64_t>{0, 1, 2, 3}));
  // Shuffled, other examples are left out in each pass.
  plan.set_shuffle(true);
  const BatchSampler shuffled = BatchSampler::ForTraining(plan);
  std::set<int64_t> all;
  for (int64_t batch = 0; batch < 40; ++batch) {
    for (const int64_t example : ExamplesOf(shuffled, batch)) all.insert(example);
  }
  EXPECT_EQ(all.size(), 10u);
}

TEST(BatchSamplerTest, EpochsOfOtherLengthsRepeatTheData) {
  proto::JobPlan plan = TenExamples();
  plan.set_batches_per_epoch(2);
  const BatchSampler order = BatchSampler::ForTraining(plan);
  EXPECT_EQ(ExamplesOf(order, 2), (std::vector<int64_t>{8, 9}));
  EXPECT_EQ(ExamplesOf(order, 3), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(BatchSamplerTest, AJobThatContinuesHasTheOrdersOfItsEpochs) {
  proto::JobPlan plan = TenExamples();
  plan.set_shuffle(true);
  const BatchSampler whole = BatchSampler::ForTraining(plan);
  plan.mutable_job()->set_initial_epoch(2);
  const BatchSampler rest = BatchSampler::ForTraining(plan);
  for (int64_t batch = 0; batch < 6; ++batch) {
    EXPECT_EQ(ExamplesOf(rest, batch), ExamplesOf(whole, 6 + batch));
  }
}

TEST(BatchSamplerTest, BlocksOfTheJobKeepABatchTogether) {
  proto::JobPlan plan;
  plan.set_examples(100000);
  plan.set_batch_size(100);
  plan.set_shuffle(true);
  plan.mutable_job()->set_shuffle_block(10);
  const BatchSampler order = BatchSampler::ForTraining(plan);
  const auto batch = ExamplesOf(order, 77);
  // 100 examples come from the 320 of one group of 32 blocks, or from two groups.
  EXPECT_EQ(std::set<int64_t>(batch.begin(), batch.end()).size(), 100u);
  std::set<int64_t> blocks;
  for (const int64_t example : batch) blocks.insert(example / 10);
  EXPECT_LE(blocks.size(), 64u);
  EXPECT_NE(ExamplesOf(order, 77), ExamplesOf(order, 1077));
  auto all = EpochOf(order, 1);
  std::sort(all.begin(), all.end());
  for (int64_t i = 0; i < 100000; ++i) ASSERT_EQ(all[i], i);
}

TEST(BatchSamplerTest, ABatchLargerThanTheDataHasThemAll) {
  const BatchSampler order(3, 128, false, 0);
  EXPECT_EQ(order.batches_per_pass(), 1);
  EXPECT_EQ(ExamplesOf(order, 5), (std::vector<int64_t>{0, 1, 2}));
}

TEST(BatchSamplerTest, ValidationStandsInFileOrderWhateverTheJobShuffles) {
  proto::JobPlan plan;
  plan.set_examples(100);
  plan.set_validation_examples(5);
  plan.set_batch_size(3);
  plan.set_shuffle(true);
  EXPECT_EQ(ExamplesOf(BatchSampler::ForValidation(plan), 1), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(BatchSampler::ForTraining(plan).batches_per_pass(), 34);
}

TEST(BatchSamplerTest, ExamplesOfMixturesAreCountedThroughAllPasses) {
  proto::JobPlan plan;
  plan.set_examples(5);
  plan.set_batch_size(2);
  plan.set_batches_per_epoch(3);
  std::vector<int64_t> plain;
  std::vector<int64_t> counted;
  for (const bool shuffle : {false, true}) {
    plan.set_shuffle(shuffle);
    plan.mutable_job()->mutable_train()->clear_mix();
    const BatchSampler all = BatchSampler::ForTraining(plan);
    plan.mutable_job()->mutable_train()->add_mix();
    const BatchSampler mixed = BatchSampler::ForTraining(plan);
    for (int64_t batch = 0; batch < 9; ++batch) {
      all.ExamplesOf(batch, &plain);
      mixed.ExamplesOf(batch, &counted);
      for (int64_t& example : plain) example += batch / 3 * 5;
      EXPECT_EQ(counted, plain);
    }
  }
}

}  // namespace
}  // namespace cairn::worker
