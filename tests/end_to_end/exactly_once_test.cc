// The counting job under faults: workers are killed, or stopped until their leases expire; a ps,
// the coordinator, or all tasks are killed. Each batch has a gradient of its own, and the weights
// are the sum of those that were applied.

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// For a longer drill set CAIRN_DRILL_FAULTS=20.
int DrillFaults() {
  const char* value = std::getenv("CAIRN_DRILL_FAULTS");
  return value != nullptr ? std::atoi(value) : 6;
}

class ExactlyOnce : public ::testing::Test {
 protected:
  static void Submit(TestCluster* cluster, const CountingJob& job) {
    const std::string file = WriteCountingJob(job, cluster->folder("job"));
    const CommandResult result = cluster->Cairn({"submit", file});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  }

  static int64_t BatchesDone(TestCluster* cluster) {
    const json status = cluster->Status("count");
    return status.value("batches_done", int64_t{0});
  }

  static void WaitForProgress(TestCluster* cluster, int64_t batches) {
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return BatchesDone(cluster) >= batches; }))
        << cluster->Status("count") << cluster->Logs();
  }

  // Waits until the job is done. Returns "" if its sum is exact, else a description.
  static std::string FinishAndSum(TestCluster* cluster, const CountingJob& job, json* status) {
    *status = cluster->WaitForEnd("count", seconds(240));
    if (status->value("state", "") != "finished")
      return "the job did not finish: " + status->dump() + cluster->Logs();
    const CommandResult result =
        cluster->Cairn({"export", "count", "--output", cluster->folder("export")});
    if (result.exit_code != 0) return result.errors;
    return SumIsNot(job, cluster->folder("export"));
  }

  static std::string SumOf(TestCluster* cluster, const CountingJob& job) {
    const auto cairn = [&](const std::vector<std::string>& command) {
      return cluster->Cairn(command);
    };
    return SumAtNextEpoch(cairn, cluster->folder("export"), job);
  }
};

struct Drill {
  int faults = 0;
  int stops = 0;
  int stops_while_running = 0;
};

// Kills random workers and restarts them. Every third fault stops a worker until its lease expires.
Drill RunDrill(TestCluster* cluster, int faults, unsigned seed) {
  std::mt19937 random(seed);
  Drill drill;
  std::vector<std::pair<int, std::chrono::steady_clock::time_point>> stopped;
  const auto continue_due = [&](bool all) {
    std::erase_if(stopped, [&](const auto& entry) {
      if (!all && std::chrono::steady_clock::now() < entry.second) return false;
      cluster->task("worker", entry.first).Signal(SIGCONT);
      if (cluster->Status("count").value("state", "") == "running") ++drill.stops_while_running;
      return true;
    });
  };
  while (drill.faults < faults) {
    std::this_thread::sleep_for(milliseconds(300 + random() % 1200));
    continue_due(false);
    const int index = static_cast<int>(random() % 3);
    const bool is_stopped = std::any_of(stopped.begin(), stopped.end(),
                                        [&](const auto& entry) { return entry.first == index; });
    if (is_stopped) continue;
    ++drill.faults;
    if (drill.faults % 3 == 0 && stopped.size() < 2) {
      cluster->task("worker", index).Signal(SIGSTOP);
      stopped.emplace_back(index, std::chrono::steady_clock::now() + seconds(12));
      ++drill.stops;
    } else {
      cluster->task("worker", index).Kill();
      cluster->Start("worker", index);
    }
  }
  while (!stopped.empty()) {
    std::this_thread::sleep_for(milliseconds(100));
    continue_due(false);
  }
  return drill;
}

TEST_F(ExactlyOnce, SumIsExactWhenWorkersAreKilledAndStoppedPastTheirLeases) {
  CountingJob job = EndlessCountingJob();
  job.distinct = true;
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/3);
  cluster.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(&cluster, job));
  ASSERT_NO_FATAL_FAILURE(WaitForProgress(&cluster, 100));
  const Drill drill = RunDrill(&cluster, DrillFaults(), /*seed=*/1);
  EXPECT_EQ(SumOf(&cluster, job), "");
  const json status = cluster.Status("count");
  EXPECT_EQ(status.value("state", ""), "running") << status;
  EXPECT_EQ(status.value("rollbacks", -1), 0) << status;
  EXPECT_GE(status.value("workers_lost", 0), drill.faults / 2) << status;
  EXPECT_GT(drill.stops_while_running, 0) << "nobody was continued past its lease in mid-training";
  RecordProperty("faults", drill.faults);
  RecordProperty("stops", drill.stops);
  RecordProperty("stops_while_running", drill.stops_while_running);
}

// A job of 20 epochs on 2 ps and 2 workers, with a checkpoint every 500 batches. `fault` is
// injected in the second epoch and is transient. The sum must be exact after this many rollbacks.
class ExactlyOnceAfterAFault : public ExactlyOnce {
 protected:
  static void Expect(int rollbacks, const std::function<void(TestCluster*)>& fault) {
    CountingJob job;
    job.distinct = true;
    job.batches = 20000;
    job.checkpoint_every = 500;
    TestCluster cluster(2, 2);
    cluster.StartAll();
    ASSERT_NO_FATAL_FAILURE(Submit(&cluster, job));
    ASSERT_NO_FATAL_FAILURE(WaitForProgress(&cluster, 1500));
    fault(&cluster);
    json status;
    EXPECT_EQ(FinishAndSum(&cluster, job, &status), "");
    EXPECT_EQ(status.value("rollbacks", -1), rollbacks) << status;
  }
};

TEST_F(ExactlyOnceAfterAFault, EverythingKilledAtOnceGoesOnByItself) {
  Expect(1, [](TestCluster* cluster) {
    cluster->KillAll();
    cluster->StartAll();
  });
}

TEST_F(ExactlyOnceAfterAFault, ALostParameterServerComesBackFromTheLastCheckpoint) {
  Expect(1, [](TestCluster* cluster) {
    cluster->task("ps", 1).Kill();
    cluster->Start("ps", 1);
  });
}

TEST_F(ExactlyOnceAfterAFault, ALostCoordinatorCostsNoRollback) {
  Expect(0, [](TestCluster* cluster) {
    cluster->task("chief", 0).Kill();
    cluster->Start("chief", 0);
  });
}

// Proves that the drill can fail: without the ledger the same faults give another sum.
TEST_F(ExactlyOnce, WithoutTheLedgerTheSumIsWrong) {
  CountingJob job = EndlessCountingJob();
  job.distinct = true;
  TestCluster cluster(2, 3, {"--unsafe_disable_ledger"});
  cluster.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(&cluster, job));
  ASSERT_NO_FATAL_FAILURE(WaitForProgress(&cluster, 100));
  RunDrill(&cluster, 6, /*seed=*/1);
  // An epoch must end with a wrong sum; any other failure would prove nothing.
  EXPECT_THAT(SumOf(&cluster, job), ::testing::StartsWith("row "));
  EXPECT_EQ(cluster.Status("count").value("state", ""), "running");
}

}  // namespace
}  // namespace cairn::testing
