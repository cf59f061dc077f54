#include "cli/machine/disk.h"

#include <filesystem>
#include <fstream>

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

TEST(DiskTest, AFileIsNoStateDirectoryNorAboveOne) {
  const std::string file = std::filesystem::path(testing::TempDir()) / "disk_test_file";
  std::ofstream(file) << "in the way";
  for (const std::string& state : {file, file + "/state", file + "/", file + "/a/b"}) {
    const auto checks = CheckDisk(state);
    ASSERT_EQ(checks.size(), 1) << state;
    EXPECT_EQ(checks[0].level, Level::kFail);
    EXPECT_EQ(checks[0].found, file + " is not a directory");
  }
  std::error_code ignored;
  std::filesystem::create_symlink("nowhere", file + "_link", ignored);
  EXPECT_EQ(CheckDisk(file + "_link/state").back().level, Level::kFail);
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
