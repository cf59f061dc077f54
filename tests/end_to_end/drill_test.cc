// `cairn drill`: its verdicts on clusters that survive the faults, on one that does not, and on a
// job that ends too early. And the final weights of drills in each mode: the ledgers that a drill
// compares could be wrong themselves.

#include <sys/stat.h>

#include <filesystem>
#include <iostream>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Most of a drill is waiting. With slower steps (--step_delay) the machine is idle meanwhile, for
// other tests.
class DrillTest : public ::testing::Test {
 protected:
  static CountingJob Job() {
    CountingJob job;
    job.batches = 4000;
    job.batches_per_epoch = 1000;
    job.checkpoint_every = 500;
    return job;
  }

  // Runs `cairn drill JOB ARGUMENTS`. On a fast machine the job may end before the last fault. Then
  // a longer one is tried. `job` is that of the result.
  CommandResult Drill(CountingJob* job, const std::vector<std::string>& arguments,
                      const std::string& cairn = ProgramPath("cli/cairn")) {
    CommandResult result;
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (attempt > 0) job->batches *= 4;
      std::filesystem::remove_all(folder_.path("drill"));
      result = DrillOnce(*job, arguments, cairn);
      if (result.exit_code != 2) break;
    }
    return result;
  }

  CommandResult DrillOnce(const CountingJob& job, const std::vector<std::string>& arguments,
                          const std::string& cairn = ProgramPath("cli/cairn")) {
    Process::Options options;
    options.arguments = {cairn, "drill", WriteCountingJob(job, folder_.path("job")), "--output",
                         folder_.path("drill")};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.output_file = folder_.path("output");
    options.error_file = folder_.path("errors");
    std::filesystem::remove(options.output_file);
    std::filesystem::remove(options.error_file);
    Process drill(options);
    CommandResult result;
    result.exit_code = drill.Wait(seconds(800)).value_or(-1);
    result.output = ReadFile(options.output_file);
    result.errors = ReadFile(options.error_file);
    return result;
  }

  json Report() {
    const std::string text = ReadFile(folder_.path("drill/drill.json"));
    return text.empty() ? json::object() : json::parse(text);
  }

  // All `faults` were noticed, and both files of the report say so.
  void ExpectAllFired(int faults) {
    const json report = Report();
    ASSERT_EQ(report.value("faults", json::array()).size(), faults) << report;
    for (const json& fault : report.at("faults")) {
      EXPECT_TRUE(fault.at("fired").get<bool>()) << fault;
      EXPECT_TRUE(fault.at("to_notice_seconds").is_number()) << fault;
      EXPECT_THAT(ReadFile(folder_.path("drill/drill.html")),
                  HasSubstr(fault.at("fault").get<std::string>()));
    }
  }

  TemporaryFolder folder_;
};

TEST_F(DrillTest, AnAsynchronousJobPassesWhenWorkersAreKilled) {
  CountingJob job = Job();
  const CommandResult result =
      Drill(&job, {"--plan", "workers", "--faults", "2", "--step_delay", "10"});
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("verdict: passed"));
  ExpectAllFired(2);
  const json report = Report();
  EXPECT_EQ(report["verdict"], "passed");
  EXPECT_EQ(report["compared"], "counts");
  EXPECT_EQ(report["result"]["batches_done"], job.batches);
  EXPECT_EQ(report["result"]["applied_batches"], job.batches);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("drill/state")));
}

TEST_F(DrillTest, ASynchronousJobHasTheBitsOfTheRunWithoutFaults) {
  CountingJob job = Job();
  job.batches = 2000;
  job.strategy = R"({"parameter_server": {"mode": "sync"}})";
  const std::vector<std::string> arguments = {"--plan",       "everything", "--faults", "1",
                                              "--step_delay", "10",         "--json",   "--keep"};
  const CommandResult result = Drill(&job, arguments);
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  ExpectAllFired(1);
  const json report = Report();
  EXPECT_EQ(report["compared"], "bits");
  EXPECT_EQ(report["values"], job.rows);
  EXPECT_EQ(report["different_values"], 0);
  EXPECT_EQ(report["twin"]["batches_done"], job.batches);
  EXPECT_GE(report["result"]["rollbacks"], 1);
  EXPECT_EQ(result.lines().size(), 2) << "one fault and the report: " << result.output;
  EXPECT_EQ(result.lines().back(), report);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("drill/state/logs")));

  const CommandResult again = DrillOnce(job, arguments);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, HasSubstr("state directory of an earlier drill"));
}

struct SumsCase {
  std::string mode;
  std::string plan;
  int faults;
  int64_t batches;
};

void PrintTo(const SumsCase& drill, std::ostream* out) { *out << drill.mode << "_" << drill.plan; }

class DrillSums : public DrillTest, public ::testing::WithParamInterface<SumsCase> {};

// A drill has only counts to compare, unless the job is synchronous. The weights are the sum of all
// gradients, each of them once.
TEST_P(DrillSums, AreThoseOfEachBatchOnce) {
  const SumsCase& drill = GetParam();
  CountingJob job = Job();
  job.distinct = true;
  job.batches_per_epoch = 500;
  job.batches = drill.batches;
  json numbers = {{"mode", drill.mode}};
  if (drill.mode == "stale") numbers["window"] = 3;
  if (drill.mode == "sync") numbers["batches_per_update"] = job.batches_per_update = 4;
  job.strategy = json({{"parameter_server", numbers}}).dump();
  const CommandResult result =
      DrillOnce(job, {"--plan", drill.plan, "--faults", std::to_string(drill.faults),
                      "--step_delay", "10", "--keep", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  const json report = Report();
  EXPECT_EQ(report["faults"].size(), drill.faults);

  const CommandResult exported =
      RunCairn({"export", job.name, "--state", folder_.path("drill/state"), "--output",
                folder_.path("export")});
  ASSERT_EQ(exported.exit_code, 0) << exported.errors;
  // The drill trains more epochs than the job has if these end before the last fault.
  job.batches = report["result"]["total_batches"];
  EXPECT_EQ(SumIsNot(job, folder_.path("export")), "");
  std::cout << drill.faults << " faults, " << job.batches << " batches\n";
}

// 112 faults in each mode.
std::vector<SumsCase> AllSums() {
  // The numbers of batches keep the drill going until the last fault is over. In a synchronous job
  // most of a fault is waiting.
  const std::tuple<const char*, int, int64_t> plans[] = {
      {"workers", 20, 20000},    {"ps", 15, 15000},    {"coordinator", 15, 15000},
      {"everything", 10, 10000}, {"hangs", 12, 28000}, {"partitions", 20, 40000},
      {"disk", 20, 40000}};
  std::vector<SumsCase> cases;
  for (const std::string mode : {"async", "stale", "sync"}) {
    const bool synchronous = mode == "sync";
    for (const auto& [plan, faults, batches] : plans) {
      cases.push_back({mode, plan, faults, synchronous ? batches / 2 : batches});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Suite, DrillSums,
                         ::testing::Values(SumsCase{"async", "everything", 1, 2000},
                                           SumsCase{"stale", "everything", 1, 2000},
                                           SumsCase{"stale", "hangs", 3, 6000}),
                         ::testing::PrintToStringParamName());
// Some minutes each, most of it waiting:
// --gtest_also_run_disabled_tests --gtest_filter='DISABLED_All*'.
INSTANTIATE_TEST_SUITE_P(DISABLED_All, DrillSums, ::testing::ValuesIn(AllSums()),
                         ::testing::PrintToStringParamName());

TEST_F(DrillTest, AJobThatEndsBeforeTheFaultsMakesItVoid) {
  CountingJob job = Job();
  job.batches_per_epoch = 10;
  job.batches = job.batches_per_epoch;
  const CommandResult result =
      DrillOnce(job, {"--plan", "coordinator", "--faults", "1", "--epochs", "1"});
  EXPECT_EQ(result.exit_code, 2) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("fault 1 (kill -9 the coordinator) did not fire"));
  EXPECT_EQ(Report()["verdict"], "void");
}

// Proves that the drill can fail: ps without a ledger apply a batch twice, if a worker dies between
// its push and its report. That not one of six does so is rare.
TEST_F(DrillTest, PsThatApplyBatchesTwiceAreFoundWrong) {
  std::filesystem::create_directories(folder_.path("programs"));
  std::filesystem::copy(ProgramPath("cli/cairn"), folder_.path("programs/cairn"));
  const std::vector<std::pair<std::string, std::string>> programs = {
      {"coordinator", ""}, {"worker", ""}, {"ps_server", "--unsafe_disable_ledger"}};
  for (const auto& [program, flag] : programs) {
    const std::string file = folder_.path("programs/" + program);
    WriteFile(file, "#!/bin/sh\nexec '" + ProgramPath(program + "/" + program) + "' " + flag +
                        " \"$@\"\n");
    chmod(file.c_str(), 0755);
  }
  CommandResult result;
  for (int seed = 1; seed <= 3 && result.exit_code != 1; ++seed) {
    CountingJob job = Job();
    job.batches = 10000;
    job.strategy = R"({"parameter_server": {"mode": "sync", "batches_per_update": 1}})";
    result = Drill(&job, {"--plan", "workers", "--faults", "6", "--seed", std::to_string(seed)},
                   folder_.path("programs/cairn"));
  }
  EXPECT_EQ(result.exit_code, 1) << result.output << result.errors;
  // Or only one of the two ps has applied a batch twice.
  EXPECT_THAT(result.output,
              AnyOf(HasSubstr("final values differ"), HasSubstr("others have version")));
  EXPECT_EQ(Report()["verdict"], "wrong");
}

}  // namespace
}  // namespace cairn::testing
