#include "job/batch_numbers.h"

#include <gtest/gtest.h>

namespace cairn::job {
namespace {

BatchNumbers Numbers(int64_t per_epoch, int64_t per_update, int64_t total) {
  proto::JobPlan plan;
  plan.set_batches_per_epoch(per_epoch);
  plan.set_batches_per_update(per_update);
  plan.set_total_batches(total);
  return BatchNumbers(plan);
}

TEST(BatchNumbersTest, UpdatesDoNotCrossEpochs) {
  const BatchNumbers numbers = Numbers(10, 4, 30);
  EXPECT_EQ(numbers.EpochOf(9), 0);
  EXPECT_EQ(numbers.EpochOf(10), 1);
  EXPECT_EQ(numbers.UpdateOf(3), 0);
  EXPECT_EQ(numbers.UpdateOf(9), 2);
  EXPECT_EQ(numbers.UpdateOf(10), 3);
  EXPECT_EQ(numbers.BatchesOf(2).first, 8);
  EXPECT_EQ(numbers.BatchesOf(2).count, 2);
  EXPECT_EQ(numbers.BatchesOf(3).first, 10);
  EXPECT_EQ(numbers.BatchesOf(3).end(), 14);
}

TEST(BatchNumbersTest, TheLastUpdateEndsWithTheJob) {
  const BatchNumbers numbers = Numbers(10, 4, 15);
  EXPECT_EQ(numbers.UpdateOf(14), 4);
  EXPECT_EQ(numbers.BatchesOf(4).first, 14);
  EXPECT_EQ(numbers.BatchesOf(4).count, 1);
}

TEST(BatchNumbersTest, EveryBatchIsInItsUpdate) {
  for (const int64_t per_update : {1, 2, 3, 7, 100}) {
    const BatchNumbers numbers = Numbers(7, per_update, 40);
    for (int64_t batch = 0; batch < 40; ++batch) {
      const BatchNumbers::Range range = numbers.BatchesOf(numbers.UpdateOf(batch));
      EXPECT_LE(range.first, batch);
      EXPECT_LT(batch, range.end());
      EXPECT_EQ(numbers.EpochOf(range.first), numbers.EpochOf(range.end() - 1));
    }
  }
}

}  // namespace
}  // namespace cairn::job
