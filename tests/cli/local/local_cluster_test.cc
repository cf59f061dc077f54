#include "cli/local/local_cluster.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cli/files.h"
#include "cli/local/cluster_file.h"
#include "cli/local/state_lock.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/faulty_files.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

template <typename Condition>
bool WaitUntil(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Shell scripts take the place of the daemons.
class LocalClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "/local_cluster_" + test->name();
    for (const char* name : {"coordinator", "ps_server", "worker"}) {
      MakeProgram(name, "echo $TF_CONFIG $2; exec sleep 1000");
    }
  }

  void MakeProgram(const std::string& name, const std::string& script) {
    const std::string path = folder_ + "/programs/" + name;
    ASSERT_TRUE(WriteFile(path, "#!/bin/sh\n" + script + "\n").ok());
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  std::string state() const { return folder_ + "/state"; }

  LocalClusterOptions Options(int ps, int workers) {
    LocalClusterOptions options;
    options.state = state();
    options.programs_folder = folder_ + "/programs";
    options.ps = ps;
    options.workers = workers;
    options.environment = {"PATH=/usr/bin:/bin", "TF_CONFIG=somebody else's"};
    return options;
  }

  ClusterFile File() { return **ReadClusterFile(state()); }
  // A process in the place of the one that ran at the time of `before` is in the file.
  bool IsStartedAgain(const std::string& task, const ClusterFile& before) {
    const ClusterFile now = File();
    return now.pids.contains(task) && now.pids.at(task) != before.pids.at(task);
  }
  std::string Log(const std::string& task) { return *ReadFile(state() + "/logs/" + task + ".log"); }

  std::string folder_;
};

TEST_F(LocalClusterTest, EveryTaskRunsWithItsOwnTfConfigAndLog) {
  auto cluster = LocalCluster::Start(Options(2, 1));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const ClusterFile file = File();
  EXPECT_EQ(file.pids.size(), 4);
  EXPECT_EQ(file.coordinator, (*cluster)->coordinator_address());
  ASSERT_TRUE(WaitUntil([&] { return Log("ps-1").find('\n') != std::string::npos; }));
  EXPECT_EQ(Log("ps-1"), file.TfConfig("ps", 1) + " " + state() + "\n");
  EXPECT_EQ((*cluster)->failure(), absl::OkStatus());
}

TEST_F(LocalClusterTest, NoProcessIsLeftAfterStop) {
  // This worker ignores SIGTERM.
  MakeProgram("worker", "trap '' TERM; while true; do sleep 1000; done");
  auto cluster = LocalCluster::Start(Options(1, 1));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const ClusterFile file = File();
  (*cluster)->Stop(absl::Milliseconds(50));
  for (const auto& [task, pid] : file.pids) {
    EXPECT_EQ(kill(static_cast<pid_t>(pid), 0), -1) << task;
  }
  EXPECT_TRUE(File().pids.empty());
}

TEST_F(LocalClusterTest, RestartsAndReportsADeadDaemon) {
  std::atomic<int> notes = 0;
  LocalClusterOptions options = Options(1, 1);
  options.on_event = [&notes](const std::string& note) {
    if (note == "ps-0 died (killed by signal 9); restarting it") ++notes;
  };
  auto cluster = LocalCluster::Start(options);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const ClusterFile first = File();
  kill(static_cast<pid_t>(first.pids.at("ps-0")), SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return IsStartedAgain("ps-0", first); }));
  EXPECT_EQ(notes, 1);
  EXPECT_EQ((*cluster)->failure(), absl::OkStatus());
}

TEST_F(LocalClusterTest, ATaskThatHasEndedHasNoPid) {
  MakeProgram("ps_server", "kill -9 $$");
  std::atomic<int> ends = 0;
  LocalClusterOptions options = Options(1, 1);
  options.on_event = [&ends](const std::string& note) {
    if (note.starts_with("ps-0 died")) ++ends;
  };
  auto cluster = LocalCluster::Start(options);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  // The ps waits for longer than the worker after this many ends.
  ASSERT_TRUE(WaitUntil([&] { return ends == 4; }));
  const ClusterFile first = File();
  kill(static_cast<pid_t>(first.pids.at("worker-0")), SIGKILL);
  ASSERT_TRUE(WaitUntil([&] { return IsStartedAgain("worker-0", first); }));
  for (const auto& [task, pid] : File().pids) EXPECT_GT(pid, 0) << task;
}

TEST_F(LocalClusterTest, DisturbedTasksGetTheSignalAndThoseThatItEndsAreStartedAgain) {
  auto cluster = LocalCluster::Start(Options(1, 2));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const ClusterFile first = File();
  const auto kill_it = [](int64_t pid) { kill(static_cast<pid_t>(pid), SIGKILL); };
  EXPECT_TRUE((*cluster)->Disturb({"ps-0", "worker-1"}, kill_it));
  EXPECT_TRUE(WaitUntil(
      [&] { return IsStartedAgain("ps-0", first) && IsStartedAgain("worker-1", first); }));
  EXPECT_EQ(File().pids.at("worker-0"), first.pids.at("worker-0"));
  EXPECT_TRUE((*cluster)->Disturb({"ps-0"}, [](int64_t) {})) << "it runs again";
  EXPECT_FALSE((*cluster)->Disturb({"ps-7"}, kill_it)) << "there is none";
  (*cluster)->Stop(absl::ZeroDuration());
  EXPECT_FALSE((*cluster)->Disturb({"ps-0"}, kill_it));
}

TEST_F(LocalClusterTest, DaemonThatCannotRunFailsTheClusterWithItsLastLines) {
  MakeProgram("ps_server", "echo the port is taken; exit 1");
  auto cluster = LocalCluster::Start(Options(1, 1));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  ASSERT_TRUE(WaitUntil([&] { return !(*cluster)->failure().ok(); }));
  EXPECT_THAT(std::string((*cluster)->failure().message()), HasSubstr("the port is taken"));
}

// The disk of the state directory hangs. The stand-ins for the daemons do not notice it.
class HangingStateTest : public LocalClusterTest {
 protected:
  void SetUp() override {
    LocalClusterTest::SetUp();
    rules_ = folder_ + "/rules";
    files_ = std::make_unique<cairn::testing::FaultyFiles>(rules_);
    setenv("CAIRN_FAULTY_FILES", rules_.c_str(), 1);
  }
  void TearDown() override {
    files_->Clear();
    unsetenv("CAIRN_FAULTY_FILES");
  }

  // The end of the state directory's path. The system shows paths without the slashes of TempDir.
  std::string StateAtEnd() const { return folder_.substr(folder_.rfind('/')) + "/state"; }

  std::string rules_;
  std::unique_ptr<cairn::testing::FaultyFiles> files_;
};

TEST_F(HangingStateTest, AStartEndsAndNamesTheFile) {
  for (const auto& [operation, file] : std::vector<std::pair<std::string, std::string>>{
           {"open", "/logs/ps-0.log"}, {"sync", "/cluster.json"}}) {
    LocalClusterOptions options = Options(1, 1);
    options.state += "_" + operation;
    files_->Set({{operation, StateAtEnd() + "_" + operation + file}});
    const auto cluster = LocalCluster::Start(options);
    EXPECT_TRUE(absl::IsUnavailable(cluster.status())) << cluster.status();
    EXPECT_THAT(std::string(cluster.status().message()),
                ::testing::StartsWith(options.state + file + ": has not answered for "));
    files_->Clear();
  }
  EXPECT_GE(files_->fired(), 2);
  files_->Set({{"open", StateAtEnd() + "/lock"}});
  const auto lock = StateLock::Take(state(), "cairn run");
  EXPECT_TRUE(absl::IsUnavailable(lock.status())) << lock.status();
  EXPECT_THAT(std::string(lock.status().message()),
              HasSubstr("/lock: has not answered for 10s; check the disk or the file server"));
}

TEST_F(HangingStateTest, ItIsSaidAndNothingWaitsForItForLong) {
  auto lock = StateLock::Take(state(), "cairn run");
  ASSERT_TRUE(lock.ok()) << lock.status();
  Mutex mutex;
  std::string notes;
  LocalClusterOptions options = Options(1, 1);
  options.on_event = [&](const std::string& note) {
    MutexLock guard(&mutex);
    notes += note + "\n";
  };
  const auto noted = [&](const std::string& text) {
    return WaitUntil([&] {
      MutexLock guard(&mutex);
      return notes.find(text) != std::string::npos;
    });
  };
  auto cluster = LocalCluster::Start(options);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const ClusterFile file = File();
  const auto hang = [&] {
    std::vector<cairn::testing::FaultyFiles::Fault> faults;
    for (const char* operation : {"open", "read", "write", "sync", "stat", "rename"}) {
      faults.push_back({operation, StateAtEnd()});
    }
    files_->Set(faults);
  };
  hang();
  kill(static_cast<pid_t>(file.pids.at("ps-0")), SIGKILL);
  EXPECT_TRUE(noted("ps-0 cannot be started again yet: " + state() + "/logs/ps-0.log: has not "));
  EXPECT_TRUE(noted(state() + "/lock: has not answered for 5"));
  EXPECT_EQ((*cluster)->failure(), absl::OkStatus());
  // It goes on when the disk answers.
  files_->Clear();
  EXPECT_TRUE(noted("the state directory " + state() + " answers again"));
  EXPECT_TRUE(WaitUntil([&] { return IsStartedAgain("ps-0", file); }));
  const ClusterFile again = File();
  hang();
  const auto begin = std::chrono::steady_clock::now();
  (*cluster)->Stop(absl::Milliseconds(50));
  lock->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  for (const auto& [task, pid] : again.pids) {
    EXPECT_EQ(kill(static_cast<pid_t>(pid), 0), -1) << task;
  }
}

TEST_F(LocalClusterTest, AStateDirectoryThatIsRemovedEndsTheClusterAndDoesNotComeBack) {
  const auto lock = StateLock::Take(state(), "cairn up");
  auto cluster = LocalCluster::Start(Options(1, 1));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const ClusterFile file = File();
  std::filesystem::remove_all(state());
  ASSERT_TRUE(WaitUntil([&] { return !(*cluster)->failure().ok(); }));
  EXPECT_THAT(std::string((*cluster)->failure().message()),
              HasSubstr("the state directory " + state() + " was removed or replaced"));
  (*cluster)->Stop(absl::Seconds(5));
  for (const auto& [task, pid] : file.pids) {
    EXPECT_EQ(kill(static_cast<pid_t>(pid), 0), -1) << task;
  }
  EXPECT_FALSE(std::filesystem::exists(state()));
}

TEST(TasksTextTest, OneWorkerIsNoPlural) {
  EXPECT_EQ(TasksText(2, 1), "1 coordinator, 2 ps, 1 worker");
  EXPECT_EQ(TasksText(1, 2), "1 coordinator, 1 ps, 2 workers");
  EXPECT_EQ(TasksText(0, 2), "1 coordinator, 2 workers");
  EXPECT_EQ(TasksText(1, 1, 1), "1 coordinator, 1 ps, 1 worker, 1 evaluator");
}

TEST_F(LocalClusterTest, NextRunHasTheSameAddressesAndMayHaveOtherPs) {
  std::string address;
  {
    auto cluster = LocalCluster::Start(Options(2, 1));
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    address = (*cluster)->coordinator_address();
  }
  EXPECT_EQ(ChooseTasks(state(), {})->ps, 2);
  EXPECT_EQ(ChooseTasks(state(), {})->workers, 2) << "of a cluster with ps they may change";
  EXPECT_EQ(ChooseTasks(state(), {.ps = 3, .workers = 4})->ps, 3);
  EXPECT_EQ(ChooseTasks(state(), {.ps = 3, .workers = 4})->workers, 4);
  for (const int ps : {2, 3, 0}) {
    auto again = LocalCluster::Start(Options(ps, 3));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->coordinator_address(), address);
    EXPECT_EQ(ChooseTasks(state(), {})->ps, ps);
  }
}

TEST_F(LocalClusterTest, WorkersThatHoldTheParametersAreStartedAgainInTheSameNumber) {
  ASSERT_TRUE(LocalCluster::Start(Options(0, 3)).ok());
  EXPECT_EQ(ChooseTasks(state(), {})->ps, 0);
  EXPECT_EQ(ChooseTasks(state(), {})->workers, 3);
  EXPECT_EQ(ChooseTasks(state(), {.workers = 1})->workers, 1);
}

TEST_F(LocalClusterTest, TheDevicesAreGivenToEachWorker) {
  MakeProgram("worker", "echo $3 $4; exec sleep 1000");
  LocalClusterOptions options = Options(1, 2);
  options.device = "cpu:0,cpu:1";
  auto cluster = LocalCluster::Start(options);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  for (const char* worker : {"worker-0", "worker-1"}) {
    ASSERT_TRUE(WaitUntil([&] { return Log(worker).find('\n') != std::string::npos; }));
    EXPECT_EQ(Log(worker), "--device cpu:0,cpu:1\n");
  }
}

TEST_F(LocalClusterTest, MissingProgramIsNamedAndNothingRuns) {
  std::filesystem::remove(folder_ + "/programs/worker");
  EXPECT_THAT(std::string(LocalCluster::Start(Options(1, 1)).status().message()),
              HasSubstr("the program worker"));
  EXPECT_FALSE(std::filesystem::exists(state() + "/cluster.json"));
}

}  // namespace
}  // namespace cairn::cli
