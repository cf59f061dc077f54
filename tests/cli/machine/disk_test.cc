#include "cli/machine/disk.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;
using Level = Check::Level;

TEST(DiskTest, RoomAndSpeedAreMeasuredWhereTheStateWouldLieAndNothingIsLeft) {
  const std::string folder = std::filesystem::path(testing::TempDir()) / "disk_test";
  std::filesystem::create_directories(folder);
  const auto checks = CheckDisk(folder + "/not/there/yet");
  ASSERT_EQ(checks.size(), 2);
  EXPECT_EQ(checks[0].subject, "disk room");
  EXPECT_THAT(checks[0].found, HasSubstr(folder));
  EXPECT_EQ(checks[1].subject, "disk sync");
  EXPECT_NE(checks[1].level, Level::kFail) << checks[1].found;
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(DiskTest, WhereNothingCanBeWrittenNothingCanBeKept) {
  const auto checks = CheckDisk("/proc/state");
  EXPECT_EQ(checks.back().level, Level::kFail);
  EXPECT_THAT(checks.back().fix, HasSubstr("--state DIR"));
}

TEST(DiskTest, LittleRoomIsAWarningAndHardlyAnyAFailure) {
  EXPECT_EQ(JudgeRoom("/d", int64_t{6} << 30).level, Level::kOk);
  EXPECT_EQ(JudgeRoom("/d", int64_t{1} << 30).level, Level::kWarn);
  EXPECT_EQ(JudgeRoom("/d", int64_t{1} << 20).level, Level::kFail);
}

TEST(DiskTest, ASlowSyncIsAWarning) {
  EXPECT_EQ(JudgeSync(absl::Milliseconds(3)).level, Level::kOk);
  EXPECT_EQ(JudgeSync(absl::Milliseconds(3)).found, "3.0 ms until a page is safe");
  EXPECT_EQ(JudgeSync(absl::Milliseconds(80)).level, Level::kWarn);
}

}  // namespace
}  // namespace cairn::cli
