#include "cluster/child_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cluster {
namespace {

using ::testing::HasSubstr;

std::string OutputFile() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + "/child_process_" + test->name();
}

ChildOptions Shell(const std::string& script) {
  return {{"/bin/sh", "-c", script}, {"GREETING=hello"}, OutputFile()};
}

int WaitForEnd(ChildProcess* child) {
  while (!child->TryWait()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return *child->TryWait();
}

TEST(ChildProcessTest, ExitCodeOutputAndEnvironmentAreTheChilds) {
  auto child = ChildProcess::Start(Shell("echo $GREETING; echo bad >&2; exit 3"));
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(WaitForEnd(child->get()), 3);
  EXPECT_EQ(*cli::ReadFile(OutputFile()), "hello\nbad\n");
}

TEST(ChildProcessTest, DeathBySignalIs128AndTheSignal) {
  auto child = ChildProcess::Start(Shell("exec sleep 1000"));
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_FALSE((*child)->TryWait());
  (*child)->Signal(SIGKILL);
  EXPECT_EQ(WaitForEnd(child->get()), 128 + SIGKILL);
}

TEST(ChildProcessTest, ProgramThatCannotBeStartedIsNamed) {
  const auto child = ChildProcess::Start({{"/no/such/program"}, {}, OutputFile()});
  EXPECT_EQ(child.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(child.status().message()), HasSubstr("/no/such/program"));
}

TEST(ChildProcessTest, OutputThatCannotBeWrittenIsNamed) {
  const auto child = ChildProcess::Start({{"/bin/true"}, {}, "/no/such/folder/log"});
  EXPECT_THAT(std::string(child.status().message()), HasSubstr("/no/such/folder/log"));
}

TEST(ChildProcessTest, ChildDiesWithTheThreadThatStartedIt) {
  std::unique_ptr<ChildProcess> child;
  std::thread([&child] { child = *ChildProcess::Start(Shell("exec sleep 1000")); }).join();
  EXPECT_EQ(WaitForEnd(child.get()), 128 + SIGKILL);
}

TEST(ChildProcessTest, DetachedChildOutlivesItsThreadAndItsObjectInASessionOfItsOwn) {
  pid_t pid = 0;
  std::thread([&pid] {
    ChildOptions options = Shell("exec sleep 1000");
    options.is_detached = true;
    pid = (*ChildProcess::Start(options))->pid();
  }).join();
  EXPECT_EQ(getsid(pid), pid);
  EXPECT_EQ(kill(pid, SIGKILL), 0);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

TEST(ChildProcessTest, ChildIsGoneAfterTheDestructor) {
  auto child = ChildProcess::Start(Shell("exec sleep 1000"));
  ASSERT_TRUE(child.ok()) << child.status();
  const pid_t pid = (*child)->pid();
  child->reset();
  EXPECT_EQ(kill(pid, 0), -1);
}

}  // namespace
}  // namespace cairn::cluster
