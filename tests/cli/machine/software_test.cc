#include "cli/machine/software.h"

#include <sys/stat.h>

#include "cli/files.h"
#include "common/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;
using Level = Check::Level;

// Shell scripts take the place of the programs.
void WritePrograms(const std::string& folder, const std::string& script) {
  for (const char* name : {"coordinator", "ps_server", "worker"}) {
    const std::string file = folder + "/" + name;
    ASSERT_TRUE(WriteFile(file, "#!/bin/sh\n" + script + "\n").ok());
    ASSERT_EQ(chmod(file.c_str(), 0755), 0);
  }
}

TEST(SoftwareTest, ProgramsOfThisVersionAreGood) {
  const std::string folder = testing::TempDir() + "/software_test_good";
  WritePrograms(folder, std::string("echo ") + kVersion);
  for (const Check& check : CheckPrograms(folder, {})) {
    EXPECT_EQ(check.level, Level::kOk) << check.found;
    EXPECT_THAT(check.found, HasSubstr(folder));
  }
}

TEST(SoftwareTest, ProgramsOfAnotherVersionOrThatDoNotStartFail) {
  const std::string folder = testing::TempDir() + "/software_test_bad";
  WritePrograms(folder, "echo 0.0.1");
  EXPECT_THAT(CheckPrograms(folder, {})[0].fix, HasSubstr("one version everywhere"));
  WritePrograms(folder, "echo libgrpc.so: not found >&2; exit 127");
  const Check check = CheckPrograms(folder, {})[2];
  EXPECT_EQ(check.level, Level::kFail);
  EXPECT_THAT(check.found, HasSubstr("libgrpc.so: not found"));
  EXPECT_THAT(CheckPrograms("/no/such/folder", {})[1].found, HasSubstr("/no/such/folder"));
}

TEST(SoftwareTest, AProgramThatHangsIsNotWaitedForForEver) {
  const std::string folder = testing::TempDir() + "/software_test_hung";
  WritePrograms(folder, "exec sleep 1000");
  const Check check = CheckPrograms(folder, {}, absl::Milliseconds(50))[1];
  EXPECT_EQ(check.level, Level::kFail);
  EXPECT_THAT(check.found, HasSubstr("no reply within 50ms"));
  EXPECT_THAT(check.fix, HasSubstr("check whether the disk responds"));
}

TEST(SoftwareTest, TheCLibraryIsFoundWithItsFile) {
  EXPECT_THAT(CheckLibraries().found, HasSubstr("libc.so"));
}

TEST(SoftwareTest, AMachineWithoutGpuIsNoFailure) {
  EXPECT_NE(CheckGpu().level, Level::kFail);
  EXPECT_NE(CheckGpu().found, "");
}

}  // namespace
}  // namespace cairn::cli
