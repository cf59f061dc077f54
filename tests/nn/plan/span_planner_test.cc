#include "nn/plan/span_planner.h"

#include <map>

#include "common/random.h"
#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

TEST(SpanPlannerTest, ReleasedSpansAreReused) {
  SpanPlanner planner;
  const int64_t first = planner.Acquire(100);
  const int64_t second = planner.Acquire(50);
  planner.Release(first);
  EXPECT_EQ(planner.Acquire(112), first);
  EXPECT_NE(planner.Acquire(1), second);
  EXPECT_EQ(planner.size(), 112 + 64 + 16);
}

TEST(SpanPlannerTest, AGapThatIsTooSmallIsLeft) {
  SpanPlanner planner;
  const int64_t first = planner.Acquire(16);
  const int64_t second = planner.Acquire(16);
  planner.Release(first);
  EXPECT_GT(planner.Acquire(17), second);
  EXPECT_EQ(planner.Acquire(16), first);
}

TEST(SpanPlannerTest, SpansInUseNeverOverlap) {
  SpanPlanner planner;
  std::map<int64_t, int64_t> used;
  for (uint64_t i = 0; i < 2000; ++i) {
    const float draw = RandomUniform(1, i);
    if (draw < 0.5f && !used.empty()) {
      const auto victim = std::next(used.begin(), static_cast<int64_t>(draw * 2 * used.size()));
      planner.Release(victim->first);
      used.erase(victim);
      continue;
    }
    const auto count = static_cast<int64_t>(RandomUniform(2, i) * 1000);
    const int64_t place = planner.Acquire(count);
    EXPECT_EQ(place % 16, 0);
    EXPECT_LE(place + count, planner.size());
    const auto after = used.lower_bound(place);
    if (after != used.end()) {
      EXPECT_LE(place + count, after->first);
    }
    if (after != used.begin()) {
      EXPECT_GE(place, std::prev(after)->first + std::prev(after)->second);
    }
    EXPECT_TRUE(used.emplace(place, count).second);
  }
}

}  // namespace
}  // namespace cairn::nn
