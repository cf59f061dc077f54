#include "common/clock.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(RealClockTest, NeverGoesBack) {
  const RealClock clock;
  absl::Duration last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const absl::Duration now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SimulatedClockTest, AdvancesOnlyByAdvance) {
  SimulatedClock clock(absl::Seconds(5));
  EXPECT_EQ(clock.Now(), absl::Seconds(5));
  EXPECT_EQ(clock.Now(), absl::Seconds(5));
  clock.Advance(absl::Milliseconds(1500));
  EXPECT_EQ(clock.Now(), absl::Milliseconds(6500));
}

}  // namespace
}  // namespace cairn
