#include "cli/local/state_lock.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(StateLockTest, SecondRunIsRefusedNamingTheFirst) {
  const std::string state = testing::TempDir() + "/state_lock_test";
  auto first = StateLock::Take(state, "cairn run");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(IsStateLocked(state));
  const auto second = StateLock::Take(state, "cairn run");
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("by cairn run (process ", getpid(), ")")));
  EXPECT_EQ((*HolderOfState(state))->pid, getpid());
}

TEST(StateLockTest, TheErrorOfALockedStateSaysHowToUseItsCluster) {
  const std::string state = testing::TempDir() + "/state_lock_test_up";
  const auto up = StateLock::Take(state, "cairn up");
  EXPECT_EQ((*HolderOfState(state))->command, "cairn up");
  EXPECT_THAT(std::string(StateLock::Take(state, "cairn run").status().message()),
              AllOf(HasSubstr("cairn submit JOB.json"), HasSubstr("cairn down")));
}

TEST(StateLockTest, LockEndsWithItsHolder) {
  const std::string state = testing::TempDir() + "/state_lock_test_end";
  ASSERT_TRUE(StateLock::Take(state, "cairn run").ok());  // Released at once.
  EXPECT_FALSE(IsStateLocked(state));
  EXPECT_FALSE(HolderOfState(state)->has_value());
  EXPECT_TRUE(StateLock::Take(state, "cairn run").ok());
}

TEST(StateLockTest, ALockThatMayNotBeReadIsNotTakenForNone) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string state = testing::TempDir() + "/state_lock_test_forbidden";
  const auto lock = StateLock::Take(state, "cairn up");
  std::filesystem::permissions(state, std::filesystem::perms::none);
  EXPECT_EQ(HolderOfState(state).status().message(),
            "cannot read " + state + "/lock: Permission denied");
  EXPECT_FALSE(IsStateLocked(state));
  std::filesystem::permissions(state, std::filesystem::perms::owner_all);
}

TEST(StateLockTest, ALockFileThatIsRemovedOrReplacedIsNotThereAnyMore) {
  const std::string state = testing::TempDir() + "/state_lock_test_mark";
  EXPECT_TRUE(LockFileMark(state).IsThere()) << "there was none";
  const auto lock = StateLock::Take(state, "cairn up");
  const LockFileMark mark(state);
  EXPECT_TRUE(mark.IsThere());
  std::filesystem::remove_all(state);
  EXPECT_FALSE(mark.IsThere());
  const auto other = StateLock::Take(state, "cairn up");
  EXPECT_FALSE(mark.IsThere());
}

TEST(StateLockTest, StateThatCannotBeMadeIsNamed) {
  EXPECT_THAT(std::string(StateLock::Take("/proc/no/state", "cairn run").status().message()),
              HasSubstr("/proc/no/state"));
  EXPECT_FALSE(IsStateLocked("/no/such/state"));
}

}  // namespace
}  // namespace cairn::cli
