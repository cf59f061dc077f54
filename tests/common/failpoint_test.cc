#include "common/failpoint.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
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

void Replace(const std::string& file, const std::string& text) {
  std::ofstream(file + ".new") << text;
  std::filesystem::rename(file + ".new", file);
}

TEST_F(FailpointTest, AreThoseOfAFileThatChanges) {
  const std::string file = ::testing::TempDir() + "/failpoints";
  std::filesystem::remove(file);
  const auto soon = [](const std::function<bool()>& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  };
  ArmFailpointsOfFile(file);
  EXPECT_TRUE(Open().ok());
  Replace(file, "journal.read=error\njournal.open=error@1-1000000\n");
  EXPECT_TRUE(soon([] { return !Open().ok(); }));
  EXPECT_FALSE(Open().ok());
  std::filesystem::remove(file);
  EXPECT_TRUE(soon([] { return Open().ok(); }));
}

TEST_F(FailpointTest, AHangEndsWhenItIsDisarmed) {
  const std::string file = ::testing::TempDir() + "/hang";
  Replace(file, "journal.open=hang\n");
  ArmFailpointsOfFile(file);
  std::atomic<bool> is_over = false;
  std::thread hanging([&] {
    Open().IgnoreError();
    is_over = true;
  });
  while (FailpointFired("journal.open") == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_over);
  std::filesystem::remove(file);
  hanging.join();
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
