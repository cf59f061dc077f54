// Daemons that were started by hand are told to end while a job trains: the coordinator takes a
// last checkpoint, and what was told to end together with it waits for that.

#include <signal.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

class Stopping : public ::testing::TestWithParam<const char*> {
 protected:
  // So many are trained before anything is stopped.
  static constexpr int64_t kTrained = 200;

  void StartAndTrain() {
    cluster_.StartAll();
    job_ = EndlessCountingJob();
    // Epochs end seldom: the checkpoint is not made for another reason.
    job_.batches_per_epoch = 200000;
    job_.batches = 50 * job_.batches_per_epoch;
    job_.batch_size = 1;
    job_.rows = 16;
    job_.strategy = GetParam();
    const CommandResult result =
        cluster_.Cairn({"submit", WriteCountingJob(job_, cluster_.folder("job"))});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
    ASSERT_TRUE(TrainsUntil(kTrained)) << cluster_.Logs();
  }

  int64_t Number(const char* name) { return cluster_.Status("count").value(name, int64_t{-1}); }
  bool TrainsUntil(int64_t batches) {
    return WaitUntil(seconds(120), [&] { return Number("batches_done") >= batches; });
  }
  void ExpectEnd(const std::string& type, int index) {
    EXPECT_EQ(cluster_.task(type, index).Wait(seconds(60)).value_or(-1), 143)
        << type << index << cluster_.Logs();
  }
  std::string ChiefLog() { return ReadFile(cluster_.folder("chief0.log")); }

  // The newest one on the disks; nobody runs.
  json NewestCheckpoint() {
    const auto lines =
        RunCairn({"checkpoints", "count", "--json", "--state", cluster_.folder("state")}).lines();
    return lines.empty() ? json::object() : lines.back();
  }
  // The job goes on from there, no batch lost or counted twice.
  void ExpectGoesOn(int64_t applied) {
    ASSERT_TRUE(TrainsUntil(applied + 1)) << cluster_.Logs();
    EXPECT_EQ(Number("rollbacks"), 0) << cluster_.Logs();
    const auto cairn = [&](const std::vector<std::string>& command) {
      return cluster_.Cairn(command);
    };
    EXPECT_EQ(CountAtCheckpoint(cairn, cluster_.folder("export"), job_.rows), "");
  }

  TestCluster cluster_{/*ps_count=*/2, /*worker_count=*/2};
  CountingJob job_;
};

TEST_P(Stopping, ACoordinatorThatIsToldToEndTakesACheckpointFirst) {
  ASSERT_NO_FATAL_FAILURE(StartAndTrain());
  cluster_.task("chief", 0).Signal(SIGTERM);
  ExpectEnd("chief", 0);
  EXPECT_THAT(ChiefLog(), HasSubstr("last checkpoint"));
  const json checkpoint = NewestCheckpoint();
  EXPECT_EQ(checkpoint.value("reason", ""), "stop") << checkpoint;
  EXPECT_GE(checkpoint.value("applied_batches", int64_t{-1}), kTrained);
  cluster_.StartAll();
  ExpectGoesOn(checkpoint.at("applied_batches"));
}

TEST_P(Stopping, DaemonsThatAreAllToldToEndWaitForTheCheckpoint) {
  ASSERT_NO_FATAL_FAILURE(StartAndTrain());
  // The coordinator last, as the hardest.
  for (const char* type : {"worker", "ps"}) {
    for (int index : {0, 1}) cluster_.task(type, index).Signal(SIGTERM);
  }
  cluster_.task("chief", 0).Signal(SIGTERM);
  ExpectEnd("chief", 0);
  for (const char* type : {"worker", "ps"}) {
    for (int index : {0, 1}) ExpectEnd(type, index);
  }
  const json checkpoint = NewestCheckpoint();
  EXPECT_EQ(checkpoint.value("reason", ""), "stop") << checkpoint << cluster_.Logs();
  EXPECT_GE(checkpoint.value("applied_batches", int64_t{-1}), kTrained);
  cluster_.StartAll();
  ExpectGoesOn(checkpoint.at("applied_batches"));
}

TEST_P(Stopping, WithoutAPsItEndsAtOnceAndSaysWhyThereIsNoCheckpoint) {
  ASSERT_NO_FATAL_FAILURE(StartAndTrain());
  cluster_.task("ps", 1).Kill();
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return Number("ps_live") == 1; }));
  cluster_.task("chief", 0).Signal(SIGTERM);
  ExpectEnd("chief", 0);
  EXPECT_THAT(ChiefLog(),
              HasSubstr("no last checkpoint why=\"FAILED_PRECONDITION: ps 1 is away\""));
}

INSTANTIATE_TEST_SUITE_P(
    Modes, Stopping,
    ::testing::Values(R"({"parameter_server": {"mode": "async"}})",
                      R"({"parameter_server": {"mode": "sync", "batches_per_update": 1}})"),
    [](const auto& info) { return info.index == 0 ? std::string("Async") : std::string("Sync"); });

}  // namespace
}  // namespace cairn::testing
