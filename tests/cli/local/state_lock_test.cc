#include "cli/local/state_lock.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

TEST(StateLockTest, SecondRunIsRefusedNamingTheFirst) {
  const std::string state = testing::TempDir() + "/state_lock_test";
  auto first = StateLock::Take(state);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(IsStateLocked(state));
  const auto second = StateLock::Take(state);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("(process ", getpid(), ")")));
}

TEST(StateLockTest, LockEndsWithItsHolder) {
  const std::string state = testing::TempDir() + "/state_lock_test_end";
  ASSERT_TRUE(StateLock::Take(state).ok());  // Released at once.
  EXPECT_FALSE(IsStateLocked(state));
  EXPECT_TRUE(StateLock::Take(state).ok());
}

TEST(StateLockTest, StateThatCannotBeMadeIsNamed) {
  EXPECT_THAT(std::string(StateLock::Take("/proc/no/state").status().message()),
              HasSubstr("/proc/no/state"));
  EXPECT_FALSE(IsStateLocked("/no/such/state"));
}

}  // namespace
}  // namespace cairn::cli
