#include "worker/lease_queue.h"

#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

proto::Split Split(int64_t first, int64_t stride, int64_t count) {
  proto::Split split;
  split.set_first(first);
  split.set_stride(stride);
  split.set_count(count);
  return split;
}

std::vector<int64_t> StartAll(LeaseQueue* queue) {
  std::vector<int64_t> batches;
  while (const auto batch = queue->Start()) batches.push_back(*batch);
  return batches;
}

TEST(LeaseQueueTest, SmallestBatchIsNextWhateverSplitItIsIn) {
  LeaseQueue queue;
  queue.Add(Split(1, 4, 3));
  queue.Add(Split(2, 4, 2));
  queue.Add(Split(0, 1, 1));
  EXPECT_EQ(queue.waiting(), 6);
  EXPECT_EQ(StartAll(&queue), (std::vector<int64_t>{0, 1, 2, 5, 6, 9}));
  EXPECT_EQ(queue.waiting(), 0);
  EXPECT_EQ(queue.started().size(), 6u);
}

TEST(LeaseQueueTest, UpcomingBatchesAreThoseThatStartNext) {
  LeaseQueue queue;
  EXPECT_TRUE(queue.Upcoming(4).empty());
  queue.Add(Split(1, 4, 3));
  queue.Add(Split(2, 4, 2));
  queue.Add(Split(0, 1, 1));
  queue.Add(Split(20, 1, 1000));
  EXPECT_TRUE(queue.Upcoming(0).empty());
  EXPECT_EQ(queue.Upcoming(1), std::vector<int64_t>({0}));
  EXPECT_EQ(queue.Upcoming(5), std::vector<int64_t>({0, 1, 2, 5, 6}));
  EXPECT_EQ(queue.Upcoming(8), std::vector<int64_t>({0, 1, 2, 5, 6, 9, 20, 21}));
  std::vector<int64_t> all = queue.Upcoming(2000);
  EXPECT_EQ(StartAll(&queue), all);
  EXPECT_TRUE(queue.Upcoming(4).empty());
}

TEST(LeaseQueueTest, ABatchSomePlacesAheadIsFoundWhereSplitsFollowEachOther) {
  LeaseQueue queue;
  EXPECT_EQ(queue.Ahead(0), std::nullopt);
  queue.Add(Split(10, 1, 5));
  queue.Add(Split(20, 2, 3));
  EXPECT_EQ(queue.Ahead(0), 10);
  EXPECT_EQ(queue.Ahead(4), 14);
  EXPECT_EQ(queue.Ahead(5), 20);
  EXPECT_EQ(queue.Ahead(7), 24);
  EXPECT_EQ(queue.Ahead(1000), 24) << "there are no more";
  StartAll(&queue);
  EXPECT_EQ(queue.Ahead(0), std::nullopt) << "none waits";
}

TEST(LeaseQueueTest, BatchesGrantedTwiceAreHereOnce) {
  LeaseQueue queue;
  queue.Add(Split(0, 1, 4));
  EXPECT_EQ(queue.Start(), 0);
  queue.Add(Split(0, 1, 6));
  queue.Add(Split(2, 1, 1));
  EXPECT_EQ(StartAll(&queue), (std::vector<int64_t>{1, 2, 3, 4, 5}));
}

TEST(LeaseQueueTest, AReturnedBatchWaitsAgainAndAFinishedOneIsForgotten) {
  LeaseQueue queue;
  queue.Add(Split(7, 1, 2));
  EXPECT_EQ(queue.Start(), 7);
  queue.ReturnBatch(7);
  EXPECT_EQ(queue.Next(), 7);
  EXPECT_EQ(queue.Start(), 7);
  queue.Finish(7);
  EXPECT_TRUE(queue.started().empty());
  queue.ReturnBatch(7);
  EXPECT_EQ(queue.Next(), 8);
}

TEST(LeaseQueueTest, WhatWaitsIsReturnedAsSplitsAndWhatIsStartedStays) {
  LeaseQueue queue;
  queue.Add(Split(0, 3, 4));
  queue.Start();
  const auto holding = queue.Holding();
  ASSERT_EQ(holding.size(), 2u);
  EXPECT_EQ(holding[0].first(), 0);
  EXPECT_EQ(holding[0].count(), 1);
  const auto returned = queue.TakeWaiting();
  ASSERT_EQ(returned.size(), 1u);
  EXPECT_EQ(returned[0].first(), 3);
  EXPECT_EQ(returned[0].stride(), 3);
  EXPECT_EQ(returned[0].count(), 3);
  EXPECT_EQ(queue.waiting(), 0);
  EXPECT_EQ(queue.started().size(), 1u);
}

TEST(LeaseQueueTest, SplitsThatHoldNothingAreIgnored) {
  LeaseQueue queue;
  queue.Add(Split(0, 1, 0));
  queue.Add(Split(0, 0, 5));
  queue.Add(Split(-3, 1, 5));
  queue.Add(Split(3, 1, -5));
  EXPECT_FALSE(queue.Next().has_value());
  EXPECT_EQ(queue.waiting(), 0);
}

}  // namespace
}  // namespace cairn::worker
