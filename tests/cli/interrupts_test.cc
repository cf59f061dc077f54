#include "cli/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include <future>

#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

TEST(InterruptsTest, FirstSignalCallsAndIsRemembered) {
  std::promise<void> called;
  Interrupts interrupts([&called] { called.set_value(); });
  EXPECT_EQ(interrupts.exit_code(), 0);
  kill(getpid(), SIGINT);
  called.get_future().wait();
  EXPECT_EQ(interrupts.exit_code(), 128 + SIGINT);
}

TEST(InterruptsTest, NoCallbackWithoutASignal) {
  const Interrupts interrupts([] { FAIL(); });
}

TEST(InterruptsDeathTest, SecondSignalEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::promise<void> called;
        Interrupts interrupts([&called] { called.set_value(); });
        kill(getpid(), SIGINT);
        called.get_future().wait();
        kill(getpid(), SIGTERM);
        pause();
      },
      testing::ExitedWithCode(128 + SIGTERM), "");
}

}  // namespace
}  // namespace cairn::cli
