#include "coordinator/progress_watch.h"

#include <gtest/gtest.h>

namespace cairn::coordinator {
namespace {

using Event = ProgressWatch::Event;

absl::Duration At(int64_t seconds) { return absl::Seconds(1000 + seconds); }

TEST(ProgressWatchTest, AStallIsReportedOnceAndSoIsItsEnd) {
  ProgressWatch watch;
  EXPECT_EQ(watch.Update("1", At(0)), Event::kNone);
  EXPECT_EQ(watch.Update("1", At(29)), Event::kNone);
  EXPECT_FALSE(watch.stalled());
  EXPECT_EQ(watch.Update("1", At(30)), Event::kStalled);
  EXPECT_EQ(watch.Update("1", At(31)), Event::kNone);
  EXPECT_TRUE(watch.stalled());
  EXPECT_EQ(watch.stalled_for(), absl::Seconds(31));
  EXPECT_EQ(watch.Update("2", At(40)), Event::kGoesOn);
  EXPECT_EQ(watch.stalled_for(), absl::Seconds(40));
  EXPECT_FALSE(watch.stalled());
}

TEST(ProgressWatchTest, AJobThatMovesIsNeverReported) {
  ProgressWatch watch;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(watch.Update(std::to_string(i), At(29 * i)), Event::kNone);
  }
}

TEST(ProgressWatchTest, StepsThatTakeLongByNatureAreReportedOnce) {
  ProgressWatch watch;
  int reports = 0;
  for (int second = 0; second < 4000; ++second) {
    if (watch.Update(std::to_string(second / 40), At(second)) == Event::kStalled) ++reports;
  }
  EXPECT_EQ(reports, 1);
  // A stall twice as long is reported again.
  EXPECT_EQ(watch.Update("99", At(4039)), Event::kNone);
  EXPECT_TRUE(watch.stalled()) << "the status shows every stall";
  EXPECT_EQ(watch.Update("99", At(4080)), Event::kStalled);
  EXPECT_EQ(watch.Update("100", At(4081)), Event::kGoesOn);
  EXPECT_FALSE(watch.stalled());
}

}  // namespace
}  // namespace cairn::coordinator
