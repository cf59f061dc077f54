#include "common/failpoint.h"

#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn {
namespace {

using ::testing::HasSubstr;

absl::Status Open() { return CAIRN_FAILPOINT("journal.open"); }

class FailpointTest : public ::testing::Test {
 protected:
  ~FailpointTest() override { DisarmFailpoints(); }
};

TEST_F(FailpointTest, DoesNothingUnlessArmed) {
  EXPECT_TRUE(Open().ok());
  EXPECT_EQ(FailpointFired("journal.open"), 0);
}

TEST_F(FailpointTest, FailsAtTheFirstHitByDefault) {
  ASSERT_TRUE(ArmFailpoint("journal.open=error").ok());
  EXPECT_EQ(Open().message(), "failpoint journal.open");
  EXPECT_TRUE(Open().ok());
  EXPECT_EQ(FailpointFired("journal.open"), 1);
}

TEST_F(FailpointTest, FailsAtTheHitsOfARange) {
  ASSERT_TRUE(ArmFailpoint("journal.open=error@3-4").ok());
  std::string failed;
  for (int hit = 1; hit <= 6; ++hit) failed += Open().ok() ? "." : "x";
  EXPECT_EQ(failed, "..xx..");
  EXPECT_EQ(FailpointFired("journal.open"), 2);
}

TEST_F(FailpointTest, Sleeps) {
  ASSERT_TRUE(ArmFailpoint("journal.open=sleep:30").ok());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(Open().ok());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30));
}

TEST_F(FailpointTest, CrashesLikeAKill) {
  ASSERT_TRUE(ArmFailpoint("journal.open=crash@2").ok());
  EXPECT_TRUE(Open().ok());
  EXPECT_EXIT(Open().IgnoreError(), ::testing::KilledBySignal(9), "");
}

TEST_F(FailpointTest, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(std::string(ArmFailpoint("journal.opn=crash").message()),
              HasSubstr("there is no failpoint \"journal.opn\" (did you mean journal.open?)"));
  for (const char* wrong : {"journal.open", "journal.open=die", "journal.open=sleep:soon",
                            "journal.open=error@0", "journal.open=error@5-3", "journal.open=@1"}) {
    EXPECT_EQ(ArmFailpoint(wrong).code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
  EXPECT_TRUE(Open().ok()) << "nothing was armed";
}

}  // namespace
}  // namespace cairn
