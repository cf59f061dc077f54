#include "cli/local/daemon_task.h"

#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/faulty_files.h"

namespace cairn::cli {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

DaemonTask Task(const std::string& script) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return DaemonTask(
      "ps-1",
      {{"/bin/sh", "-c", script}, {}, ::testing::TempDir() + "/daemon_task_" + test->name()});
}

DaemonTask::Time Now() { return std::chrono::steady_clock::now(); }

// Calls Watch with `now` until there is an event.
DaemonTask::Event WaitForEvent(DaemonTask* task, DaemonTask::Time now) {
  while (true) {
    auto event = task->Watch(now);
    if (!event.note.empty() || event.started_again || !event.failure.ok()) return event;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

TEST(DaemonTaskTest, KilledDaemonIsStartedAgainAfterADelay) {
  DaemonTask task = Task("exec sleep 1000");
  ASSERT_TRUE(task.Start().ok());
  const int64_t first = task.pid();
  kill(static_cast<pid_t>(first), SIGKILL);
  const auto end = Now();
  EXPECT_EQ(WaitForEvent(&task, end).note, "ps-1 died (killed by signal 9); restarting it");
  EXPECT_FALSE(task.Watch(end + milliseconds(99)).started_again);
  EXPECT_TRUE(task.Watch(end + milliseconds(100)).started_again);
  EXPECT_NE(task.pid(), first);
  EXPECT_TRUE(task.IsRunning());
}

TEST(DaemonTaskTest, DisturbedDaemonIsStartedAgain) {
  DaemonTask task = Task("exec sleep 1000");
  EXPECT_EQ(task.pid(), 0) << "it does not run yet";
  ASSERT_TRUE(task.Start().ok());
  EXPECT_EQ(kill(static_cast<pid_t>(task.pid()), SIGKILL), 0);
  EXPECT_EQ(WaitForEvent(&task, Now()).note, "ps-1 died (killed by signal 9); restarting it");
}

TEST(DaemonTaskTest, DelayDoublesForADaemonThatKeepsDying) {
  DaemonTask task = Task("exit 129");
  ASSERT_TRUE(task.Start().ok());
  for (int delay : {100, 200, 400, 800, 1600, 3200, 5000, 5000}) {
    const auto end = Now();
    EXPECT_THAT(WaitForEvent(&task, end).note, HasSubstr("ps-1 died (exit code 129, see "));
    EXPECT_FALSE(task.Watch(end + milliseconds(delay - 1)).started_again) << delay;
    EXPECT_TRUE(task.Watch(end + milliseconds(delay)).started_again) << delay;
  }
}

TEST(DaemonTaskTest, ADaemonWhoseLogCannotBeOpenedForAMomentIsStartedLater) {
  const std::string rules = ::testing::TempDir() + "/daemon_task_rules";
  const cairn::testing::FaultyFiles faults(rules);
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  DaemonTask task = Task("exec sleep 1000");
  ASSERT_TRUE(task.Start().ok());
  kill(static_cast<pid_t>(task.pid()), SIGKILL);
  auto now = Now();
  WaitForEvent(&task, now);
  for (const int error : {EIO, ESTALE, ENOSPC}) {
    faults.Set({{"open", "ADaemonWhoseLog", error}});
    const auto event = task.Watch(now += milliseconds(5000));
    EXPECT_TRUE(event.failure.ok()) << event.failure;
    EXPECT_THAT(event.note, HasSubstr("ps-1 cannot be started again yet: cannot write "));
    EXPECT_THAT(event.note, HasSubstr(strerror(error)));
  }
  faults.Clear();
  EXPECT_TRUE(task.Watch(now += milliseconds(4999)).note.empty());
  EXPECT_TRUE(task.Watch(now += milliseconds(1)).started_again);
  unsetenv("CAIRN_FAULTY_FILES");
}

TEST(DaemonTaskTest, PermanentExitCodeIsAFailureWithTheEndOfTheLog) {
  DaemonTask task = Task("for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done; exit 1");
  ASSERT_TRUE(task.Start().ok());
  const auto event = WaitForEvent(&task, Now());
  const std::string message(event.failure.message());
  EXPECT_THAT(message, HasSubstr("ps-1 cannot run (exit code 1)"));
  EXPECT_THAT(message, HasSubstr("line 2\n  line 3"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("line 1\n")));
  EXPECT_FALSE(task.Watch(Now() + std::chrono::hours(1)).started_again);
}

TEST(DaemonTaskTest, NothingIsStartedAgainAfterASignal) {
  DaemonTask task = Task("exec sleep 1000");
  ASSERT_TRUE(task.Start().ok());
  task.Signal(SIGTERM);
  while (task.IsRunning()) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_FALSE(task.Watch(Now() + std::chrono::hours(1)).started_again);
}

}  // namespace
}  // namespace cairn::cli
