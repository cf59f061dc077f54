// `cairn run` as in the README.

#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class LocalRun : public ::testing::Test {
 protected:
  std::vector<std::string> RunArguments(const std::string& job_file) {
    return {"run",       job_file,
            "--ps",      "2",
            "--workers", "2",
            "--state",   folder_.path("state"),
            "--export",  folder_.path("export")};
  }
  CommandResult Read(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--state", folder_.path("state")});
    return RunCairn(arguments);
  }
  int64_t BatchesDone() {
    const auto lines = Read({"status", "count", "--json"}).lines();
    return lines.empty() || !lines.back().is_object()
               ? 0
               : lines.back().value("batches_done", int64_t{0});
  }

  // The pids of this run's daemons that are alive.
  int DaemonsAlive() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string command = ReadFile(entry.path().string() + "/cmdline");
      const bool zombie =
          ReadFile(entry.path().string() + "/stat").find(") Z ") != std::string::npos;
      if (!zombie && command.find(folder_.path("state")) != std::string::npos &&
          command.find("cli/cairn") == std::string::npos)
        ++count;
    }
    return count;
  }

  TemporaryFolder folder_;
};

TEST_F(LocalRun, TrainsKeepsHistoryAndLeavesNothingRunning) {
  CountingJob job;
  job.batches = 400;
  job.batches_per_epoch = 100;
  const CommandResult result = RunCairn(RunArguments(WriteCountingJob(job, folder_.path("job"))));
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  EXPECT_EQ(CountIsNot(job.batches, folder_.path("export"), job.rows), "");
  EXPECT_EQ(DaemonsAlive(), 0);

  int64_t expected = 0;
  for (const json& line : Read({"history", "count", "--json"}).lines()) {
    if (!line.contains("batch")) continue;
    EXPECT_EQ(line.at("epoch"), expected / 100);
    EXPECT_EQ(line.at("batch"), expected % 100);
    ++expected;
  }
  EXPECT_EQ(expected, job.batches);
  const auto checkpoints = Read({"checkpoints", "count", "--json"}).lines();
  EXPECT_EQ(checkpoints.size(), 3u) << "keep is 3 unless said";
}

TEST_F(LocalRun, ASecondRunOfAFinishedJobSaysSoAndADifferentJobIsRefused) {
  CountingJob job;
  job.batches = 100;
  job.batches_per_epoch = 100;
  const auto arguments = RunArguments(WriteCountingJob(job, folder_.path("job")));
  ASSERT_EQ(RunCairn(arguments).exit_code, 0);
  const CommandResult again = RunCairn(arguments);
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_NE((again.output + again.errors).find("finished"), std::string::npos)
      << again.output << again.errors;

  job.batches = 200;
  WriteCountingJob(job, folder_.path("job"));
  const CommandResult different = RunCairn(arguments);
  EXPECT_EQ(different.exit_code, 2) << different.output << different.errors;
  EXPECT_NE(different.errors.find("epochs"), std::string::npos) << different.errors;
}

TEST_F(LocalRun, AfterCtrlCTheSameCommandGoesOn) {
  CountingJob job;
  job.batches = 50000;  // Not done before the faults, on a fast machine either.
  const auto arguments = RunArguments(WriteCountingJob(job, folder_.path("job")));
  Process::Options options;
  options.arguments = {ProgramPath("cli/cairn")};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.output_file = folder_.path("first.log");
  Process first(options);
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() > 300; }))
      << ReadFile(options.output_file);
  first.Signal(SIGINT);
  ASSERT_TRUE(first.Wait(seconds(40)).has_value()) << ReadFile(options.output_file);
  EXPECT_EQ(DaemonsAlive(), 0);
  EXPECT_NE(ReadFile(options.output_file).find("cairn run"), std::string::npos)
      << "it says how to go on: " << ReadFile(options.output_file);

  // A rejected run starts the daemons too, and the job continues until they stop.
  CountingJob other = job;
  other.batches += other.batches_per_epoch;
  WriteCountingJob(other, folder_.path("job"));
  EXPECT_EQ(RunCairn(arguments).exit_code, 2);
  WriteCountingJob(job, folder_.path("job"));

  const CommandResult second = RunCairn(arguments, seconds(240));
  ASSERT_EQ(second.exit_code, 0) << second.output << second.errors;
  EXPECT_EQ(CountIsNot(job.batches, folder_.path("export"), job.rows), "");
  EXPECT_EQ(Read({"status", "count", "--json"}).lines().back()["rollbacks"], 0)
      << second.output << second.errors << Read({"status", "count", "--json"}).output;
}

TEST_F(LocalRun, AJobThatWasRefusedBeforeItBeganMayBeMended) {
  CountingJob job;
  job.batches = job.batches_per_epoch = 100;
  const std::string file = WriteCountingJob(job, folder_.path("job"));
  const std::string good = ReadFile(file);
  json bad = json::parse(good);
  bad["train"]["npy"]["features"] = "not_there.npy";
  WriteFile(file, bad.dump());
  const CommandResult refused = RunCairn(RunArguments(file));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("not_there.npy"), std::string::npos) << refused.errors;
  WriteFile(file, good);
  const CommandResult mended = RunCairn(RunArguments(file));
  EXPECT_EQ(mended.exit_code, 0) << mended.output << mended.errors;
  EXPECT_EQ(CountIsNot(job.batches, folder_.path("export"), job.rows), "");
}

TEST_F(LocalRun, TwoCtrlCsStopAtOnceAndSayHowToGoOn) {
  const auto arguments = RunArguments(WriteCountingJob(EndlessCountingJob(), folder_.path("job")));
  Process::Options options;
  options.arguments = {ProgramPath("cli/cairn")};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.output_file = folder_.path("run.log");
  Process run(options);
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() > 300; }));
  run.Signal(SIGINT);
  // Two signals at the same time could be merged into one.
  ASSERT_TRUE(WaitUntil(seconds(60), [&] {
    return ReadFile(options.output_file).find("stopping") != std::string::npos;
  }));
  run.Signal(SIGINT);
  const auto exit_code = run.Wait(seconds(40));
  ASSERT_TRUE(exit_code.has_value());
  // The same exit code even if the shutdown after the first signal has completed.
  EXPECT_EQ(*exit_code, 128 + SIGINT);
  EXPECT_NE(ReadFile(options.output_file).find("to continue"), std::string::npos);
  EXPECT_TRUE(WaitUntil(seconds(20), [&] { return DaemonsAlive() == 0; }));
}

TEST_F(LocalRun, ADaemonThatDiesIsStartedAgain) {
  CountingJob job;
  job.batches = 50000;  // Not done before the faults, on a fast machine either.
  job.checkpoint_every = 500;
  const auto arguments = RunArguments(WriteCountingJob(job, folder_.path("job")));
  Process::Options options;
  options.arguments = {ProgramPath("cli/cairn")};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.output_file = folder_.path("run.log");
  Process run(options);
  for (const char* program : {"worker", "ps_server", "coordinator"}) {
    const int64_t before = BatchesDone();
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone() > before + 300; }))
        << ReadFile(options.output_file);
    const std::string pids =
        "pkill -9 -o -P " + std::to_string(run.pid()) + " -x " + std::string(program).substr(0, 15);
    ASSERT_EQ(std::system(pids.c_str()), 0) << program;
  }
  EXPECT_EQ(run.Wait(seconds(240)).value_or(-1), 0) << ReadFile(options.output_file);
  EXPECT_EQ(CountIsNot(job.batches, folder_.path("export"), job.rows), "");
}

}  // namespace
}  // namespace cairn::testing
