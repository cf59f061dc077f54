#include "cli/machine/resources.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;
using Level = Check::Level;

constexpr char kCpu[] =
    "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu avx avx2 fma\n\n"
    "processor\t: 1\nflags\t\t: fpu\n";

TEST(ResourcesTest, TheBestInstructionsAreNamed) {
  EXPECT_EQ(CheckProcessor(kCpu, 2).found, "A Processor, 2 cores, AVX2");
  EXPECT_EQ(CheckProcessor(kCpu, 2).level, Level::kOk);
  EXPECT_EQ(CheckProcessor("flags : avx512f avx2\n", 1).found,
            "unknown processor, 1 core, AVX-512");
}

TEST(ResourcesTest, AProcessorWithoutThemIsSlow) {
  for (const char* flags : {"flags : avx avx2\n", "flags : fma avx2x\n", ""}) {
    const Check check = CheckProcessor(flags, 1);
    EXPECT_EQ(check.level, Level::kWarn) << flags;
    EXPECT_THAT(check.fix, HasSubstr("newer processor"));
  }
}

TEST(ResourcesTest, MemoryIsJudgedByWhatIsFree) {
  const auto with_free = [](const std::string& kibibytes) {
    return CheckMemory("MemTotal:  8388608 kB\nMemFree: 1 kB\nMemAvailable: " + kibibytes +
                       " kB\n");
  };
  EXPECT_EQ(with_free("2097152").level, Level::kOk);
  EXPECT_EQ(with_free("2097152").found, "2.0 GiB free of 8.0 GiB");
  EXPECT_EQ(with_free("1000000").level, Level::kWarn);
  EXPECT_EQ(with_free("100000").level, Level::kFail);
  EXPECT_THAT(with_free("100000").fix, HasSubstr("--workers"));
}

TEST(ResourcesTest, FewDescriptorsAreToldHowToGetMore) {
  EXPECT_EQ(CheckDescriptors(65536).level, Level::kOk);
  EXPECT_EQ(CheckDescriptors(1024).level, Level::kOk);
  EXPECT_EQ(CheckDescriptors(512).level, Level::kWarn);
  EXPECT_EQ(CheckDescriptors(64).level, Level::kFail);
  EXPECT_THAT(CheckDescriptors(64).fix, HasSubstr("ulimit -n"));
}

}  // namespace
}  // namespace cairn::cli
