#include "worker/activity.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {
namespace {

TEST(ActivityTest, SaysThePhaseItsBatchAndHowLongNothingHappened) {
  SimulatedClock clock;
  Activity activity(&clock);
  clock.Advance(absl::Seconds(5));
  activity.Enter(proto::Activity::READING, 17);
  clock.Advance(absl::Milliseconds(1500));
  EXPECT_EQ(activity.Report().phase(), proto::Activity::READING);
  EXPECT_EQ(activity.Report().batch(), 17);
  EXPECT_EQ(activity.Report().milliseconds_without_progress(), 1500);
  activity.Enter(proto::Activity::IDLE);
  EXPECT_EQ(activity.Report().batch(), -1);
  EXPECT_EQ(activity.Report().milliseconds_without_progress(), 0);
}

TEST(ActivityTest, AReadIsProgress) {
  SimulatedClock clock;
  Activity activity(&clock);
  activity.Report();
  const std::string file = cairn::testing::WriteDataFile("activity.data", "abc");
  const int descriptor = open(file.c_str(), O_RDONLY);
  char bytes[3];
  ASSERT_TRUE(ReadAt(descriptor, 0, 3, bytes, file).ok());
  close(descriptor);
  clock.Advance(absl::Seconds(3));
  EXPECT_EQ(activity.Report().milliseconds_without_progress(), 0);
  clock.Advance(absl::Seconds(4));
  EXPECT_EQ(activity.Report().milliseconds_without_progress(), 4000);
}

}  // namespace
}  // namespace cairn::worker
