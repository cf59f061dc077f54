#include "worker/coordinator_process.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

// A shell script in place of the coordinator.
class CoordinatorProcessTest : public ::testing::Test {
 protected:
  CoordinatorProcessTest() : folder_(::testing::TempDir() + "coordinator_process_test") {
    std::filesystem::create_directories(folder_);
  }
  ~CoordinatorProcessTest() override { std::filesystem::remove_all(folder_); }

  // Each start of the script adds a line to the file "starts".
  cluster::ChildOptions Script(const std::string& text) const {
    return {.command = {"/bin/sh", "-c", "echo >> " + folder_ + "/starts; " + text},
            .environment = {"PATH=/usr/bin:/bin"},
            .output_file = folder_ + "/log"};
  }
  int Starts() const {
    std::ifstream file(folder_ + "/starts");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }
  void WaitForStarts(int count) const {
    while (Starts() < count) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  static void NotCalled(const std::string& reason) { ADD_FAILURE() << reason; }

  const std::string folder_;
};

TEST_F(CoordinatorProcessTest, OneThatEndsIsStartedAgain) {
  for (const std::string end : {"exit 129", "exit 0", "kill -9 $$"}) {
    const int before = Starts();
    CoordinatorProcess process(Script(end), NotCalled);
    WaitForStarts(before + 3);
  }
}

TEST_F(CoordinatorProcessTest, ExitCodesBelow128AreForGood) {
  std::string reason;
  {
    CoordinatorProcess process(Script("exit 2"), [&](const std::string& why) { reason = why; });
    process.Wait(absl::Minutes(1));
  }
  EXPECT_NE(reason.find("exit code 2"), std::string::npos) << reason;
  EXPECT_EQ(Starts(), 1);
}

TEST_F(CoordinatorProcessTest, StopSendsSigtermAndWaits) {
  CoordinatorProcess process(
      Script("trap 'echo >> " + folder_ + "/starts; exit 143' TERM; while :; do sleep 0.05; done"),
      NotCalled);
  WaitForStarts(1);
  // The shell may not have come to the trap.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  process.Stop();
  process.Wait(absl::Minutes(1));
  EXPECT_EQ(Starts(), 2) << "it was killed, or started again";
}

TEST_F(CoordinatorProcessTest, OneThatDoesNotStopIsKilled) {
  CoordinatorProcess process(Script("trap '' TERM; while :; do sleep 0.05; done"), NotCalled);
  WaitForStarts(1);
  process.Stop();
  process.Wait(absl::Milliseconds(200));
  EXPECT_EQ(Starts(), 1);
}

}  // namespace
}  // namespace cairn::worker
