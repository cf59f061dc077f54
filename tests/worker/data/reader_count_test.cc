#include "worker/data/reader_count.h"

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

// After many batches and steps of these times.
int ThreadsAfter(int64_t batch, int64_t step, int most = 8) {
  ReaderCount count(most);
  for (int i = 0; i < 50; ++i) {
    count.AddBatch(batch);
    count.AddStep(step);
  }
  return count.threads();
}

TEST(ReaderCountTest, AllReadTheFirstBatch) {
  EXPECT_EQ(ReaderCount(8).threads(), 8);
  EXPECT_EQ(ReaderCount(1).threads(), 1);
}

TEST(ReaderCountTest, AsManyAsTheStepNeeds) {
  // Half of the step: 50 ms.
  EXPECT_EQ(ThreadsAfter(1 * kMillisecond, 100 * kMillisecond), 1);
  EXPECT_EQ(ThreadsAfter(50 * kMillisecond, 100 * kMillisecond), 1);
  EXPECT_EQ(ThreadsAfter(51 * kMillisecond, 100 * kMillisecond), 2);
  EXPECT_EQ(ThreadsAfter(240 * kMillisecond, 100 * kMillisecond), 5);
  EXPECT_EQ(ThreadsAfter(1000 * kMillisecond, 100 * kMillisecond), 8);
  EXPECT_EQ(ThreadsAfter(1000 * kMillisecond, 100 * kMillisecond, 64), 20);
}

TEST(ReaderCountTest, SmallPiecesAreNotSpread) {
  // A step without any computing would be met by as many threads as there are.
  EXPECT_EQ(ThreadsAfter(100'000, 0), 1);
  EXPECT_EQ(ThreadsAfter(300'000, 0), 2);
  EXPECT_EQ(ThreadsAfter(0, 0), 1);
}

TEST(ReaderCountTest, FollowsSlowerBatchesAndLongerSteps) {
  ReaderCount count(8);
  for (int i = 0; i < 50; ++i) {
    count.AddBatch(kMillisecond);
    count.AddStep(10 * kMillisecond);
  }
  EXPECT_EQ(count.threads(), 1);
  // A file is opened: one batch is slow.
  count.AddBatch(100 * kMillisecond);
  EXPECT_EQ(count.threads(), 6);
  for (int i = 0; i < 20; ++i) count.AddBatch(kMillisecond);
  EXPECT_EQ(count.threads(), 1);
  // A slower disk.
  for (int i = 0; i < 20; ++i) count.AddBatch(20 * kMillisecond);
  EXPECT_EQ(count.threads(), 4);
  for (int i = 0; i < 30; ++i) count.AddStep(100 * kMillisecond);
  EXPECT_EQ(count.threads(), 1);
}

}  // namespace
}  // namespace cairn::worker
