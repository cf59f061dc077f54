// `cairn run` and `cairn up` on a state directory whose disk, or file server, does not answer.

#include <signal.h>

#include <cstdlib>
#include <iostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;

class HangingState : public ::testing::Test {
 protected:
  // Of the supervisor, and of its daemons.
  std::map<std::string, std::string> Environment() {
    return {{"CAIRN_FAULTY_FILES", folder_.path("rules")},
            {"LD_PRELOAD", ProgramPath("tests/common/preloaded_faulty_files.so")}};
  }
  std::vector<std::string> RunArguments() {
    const std::string job = WriteCountingJob(EndlessCountingJob(), folder_.path("job"));
    return {"run", job, "--workers", "1", "--ps", "1", "--state", state()};
  }
  std::string state() { return folder_.path("state"); }
  void HangAll() {
    std::vector<FaultyFiles::Fault> faults;
    for (const char* operation : {"open", "read", "write", "sync", "stat", "rename", "unlink"}) {
      faults.push_back({operation, "/state/"});
    }
    files_.Set(faults);
  }
  bool Trains() {
    return WaitUntil(seconds(60), [&] {
      const auto lines = RunCairn({"status", "count", "--json", "--state", state()}).lines();
      return !lines.empty() && lines.back().value("batches_done", 0) > 100;
    });
  }
  // The process of a task, as cluster.json has it.
  pid_t PidOf(const std::string& task) {
    return nlohmann::json::parse(ReadFile(state() + "/cluster.json")).at("pids").at(task);
  }

  TemporaryFolder folder_;
  FaultyFiles files_{folder_.path("rules")};
};

TEST_F(HangingState, AStartEndsAndNamesThePath) {
  for (const auto& [operation, path] :
       std::vector<std::pair<std::string, std::string>>{{"open", "/state/lock"},
                                                        {"sync", "/state/cluster.json"},
                                                        {"open", "/state/logs/ps-0.log"}}) {
    files_.Set({{operation, path}});
    const auto begin = steady_clock::now();
    const CommandResult result = RunCairn(RunArguments(), seconds(40), Environment());
    EXPECT_EQ(result.exit_code, 3) << operation << path;
    EXPECT_THAT(result.errors, HasSubstr(path + ": has not answered for ")) << operation;
    EXPECT_THAT(result.errors, HasSubstr("; check the disk or the file server that it is on"));
    std::cout << operation << " " << path << ": "
              << std::chrono::duration<double>(steady_clock::now() - begin).count() << " s\n";
  }
  EXPECT_GE(files_.fired(), 3);
}

TEST_F(HangingState, ARunSaysSoAndEndsWithCtrlC) {
  Process::Options options;
  options.arguments = RunArguments();
  options.arguments.insert(options.arguments.begin(), ProgramPath("cli/cairn"));
  options.environment = Environment();
  options.output_file = folder_.path("run.out");
  Process run(options);
  ASSERT_TRUE(Trains()) << ReadFile(options.output_file);
  const pid_t worker = PidOf("worker-0");
  HangAll();
  // It is started again, for which its log is opened.
  ASSERT_EQ(kill(worker, SIGKILL), 0);
  EXPECT_TRUE(WaitUntil(seconds(30), [&] {
    const std::string text = ReadFile(options.output_file);
    return text.find("/state/lock: has not answered for ") != std::string::npos &&
           text.find("worker-0 cannot be started again yet: ") != std::string::npos;
  })) << ReadFile(options.output_file);
  run.Signal(SIGINT);
  const auto begin = steady_clock::now();
  EXPECT_EQ(run.Wait(seconds(90)).value_or(-1), 130) << ReadFile(options.output_file);
  std::cout << "Ctrl-C: " << std::chrono::duration<double>(steady_clock::now() - begin).count()
            << " s\n";
}

// Its own log is in the directory, too.
TEST_F(HangingState, AClusterInTheBackgroundEndsWithCairnDown) {
  const CommandResult up = RunCairn({"up", "--workers", "1", "--ps", "1", "--state", state()},
                                    seconds(60), Environment());
  ASSERT_EQ(up.exit_code, 0) << up.output << up.errors;
  const pid_t worker = PidOf("worker-0");
  HangAll();
  ASSERT_EQ(kill(worker, SIGKILL), 0);
  // The look for the lock file, and the log of the worker that is started again.
  ASSERT_TRUE(WaitUntil(seconds(30), [&] { return files_.fired() >= 2; }));
  const auto begin = steady_clock::now();
  const CommandResult down = RunCairn({"down", "--state", state()});
  EXPECT_EQ(down.exit_code, 0) << down.errors;
  EXPECT_THAT(down.output, HasSubstr("has ended")) << down.errors;
  EXPECT_THAT(down.output, Not(HasSubstr("was killed"))) << down.errors;
  std::cout << "cairn down: " << std::chrono::duration<double>(steady_clock::now() - begin).count()
            << " s\n";
}

// A directory that does not answer for a while.
TEST_F(HangingState, AClusterGoesOnWhenTheDiskAnswersAgain) {
  const CommandResult up = RunCairn({"up", "--workers", "1", "--ps", "1", "--state", state()},
                                    seconds(60), Environment());
  ASSERT_EQ(up.exit_code, 0) << up.output << up.errors;
  const pid_t worker = PidOf("worker-0");
  files_.Set({{"stat", "/state/lock"}, {"open", "/state/logs/worker-0.log"}});
  ASSERT_EQ(kill(worker, SIGKILL), 0);
  const std::string log = state() + "/logs/cairn.log";
  ASSERT_TRUE(WaitUntil(seconds(30), [&] {
    return ReadFile(log).find("/state/lock: has not answered for ") != std::string::npos &&
           ReadFile(log).find("worker-0.log: has not answered for ") != std::string::npos;
  })) << ReadFile(log);
  files_.Clear();
  EXPECT_TRUE(WaitUntil(seconds(30), [&] {
    return ReadFile(log).find("/state answers again") != std::string::npos &&
           PidOf("worker-0") != worker;
  })) << ReadFile(log);
  EXPECT_EQ(RunCairn({"down", "--state", state()}).exit_code, 0);
}

}  // namespace
}  // namespace cairn::testing
