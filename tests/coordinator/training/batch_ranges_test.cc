#include "coordinator/training/batch_ranges.h"

#include <gtest/gtest.h>

#include <set>

#include "common/random.h"

namespace cairn::coordinator {
namespace {

TEST(BatchRangesTest, NeighboursBecomeOneRange) {
  BatchRanges ranges(0, 3);
  ranges.Add(5, 7);
  EXPECT_EQ(ranges.ranges().size(), 2u);
  ranges.Add(3, 5);
  EXPECT_EQ(ranges.ranges(), (BatchRanges::Map{{0, 7}}));
  EXPECT_EQ(ranges.size(), 7);
}

TEST(BatchRangesTest, RemovingTheMiddleLeavesBothEnds) {
  BatchRanges ranges(0, 1000000000);
  ranges.Remove(10, 20);
  EXPECT_EQ(ranges.ranges(), (BatchRanges::Map{{0, 10}, {20, 1000000000}}));
  EXPECT_EQ(ranges.size(), 999999990);
  EXPECT_EQ(ranges.CountBelow(25), 15);
  EXPECT_EQ(ranges.front(), 0);
  EXPECT_EQ(ranges.end(), 1000000000);
}

TEST(BatchRangesTest, EmptyAndBackwardRangesChangeNothing) {
  BatchRanges ranges(4, 6);
  ranges.Add(9, 9);
  ranges.Add(9, 2);
  ranges.Remove(6, 4);
  EXPECT_EQ(ranges.ranges(), (BatchRanges::Map{{4, 6}}));
}

// Compares with a std::set.
TEST(BatchRangesTest, BehavesAsASetUnderRandomChanges) {
  constexpr int64_t kEnd = 60;
  BatchRanges ranges;
  std::set<int64_t> truth;
  for (uint64_t i = 0; i < 20000; ++i) {
    const int64_t begin = RandomBelow(1, 3 * i, kEnd);
    const int64_t end = begin + RandomBelow(1, 3 * i + 1, 8);
    const bool add = RandomBelow(1, 3 * i + 2, 2) == 0;
    add ? ranges.Add(begin, end) : ranges.Remove(begin, end);
    for (int64_t batch = begin; batch < end; ++batch) {
      add ? (void)truth.insert(batch) : (void)truth.erase(batch);
    }
    ASSERT_EQ(ranges.size(), static_cast<int64_t>(truth.size()));
    const int64_t limit = RandomBelow(2, i, kEnd);
    ASSERT_EQ(ranges.CountBelow(limit), std::distance(truth.begin(), truth.lower_bound(limit)));
    ASSERT_EQ(ranges.Contains(limit), truth.contains(limit));
    ASSERT_EQ(ranges.Intersection(begin, end).size(),
              std::distance(truth.lower_bound(begin), truth.lower_bound(end)));
    const auto next = ranges.NextFrom(limit);
    const auto first = truth.lower_bound(limit);
    ASSERT_EQ(next.has_value(), first != truth.end());
    if (!next) continue;
    ASSERT_EQ(next->first, *first);
    for (int64_t batch = next->first; batch < next->second; ++batch) {
      ASSERT_TRUE(truth.contains(batch));
    }
    ASSERT_FALSE(truth.contains(next->second));
  }
  int64_t previous_end = -1;
  for (const auto& [begin, end] : ranges.ranges()) {
    EXPECT_GT(begin, previous_end);
    EXPECT_GT(end, begin);
    previous_end = end;
  }
}

TEST(BatchRangesTest, SetsIntersect) {
  BatchRanges a(0, 10), b(5, 7);
  b.Add(9, 20);
  EXPECT_EQ(a.Intersection(b).ranges(), (BatchRanges::Map{{5, 7}, {9, 10}}));
}

}  // namespace
}  // namespace cairn::coordinator
