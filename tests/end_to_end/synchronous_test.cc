// Synchronous training: the result depends neither on the number of workers nor on failures.

#include <signal.h>

#include <functional>
#include <map>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/adam_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

// Kills a worker four times, each time when all workers have joined and the job has advanced.
void KillSome(TestCluster* cluster, int workers) {
  std::mt19937 random(3);
  for (int kills = 1; kills <= 4; ++kills) {
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      const json status = cluster->Status("sync");
      return status.value("batches_done", 0) >= 20 * kills &&
             status.value("workers_live", 0) == workers;
    })) << cluster->Logs();
    const int index = static_cast<int>(random() % workers);
    cluster->task("worker", index).Kill();
    cluster->Start("worker", index);
  }
}

std::map<std::string, Array> TrainOn(int workers, bool kill_workers) {
  TestCluster cluster(/*ps_count=*/2, workers);
  cluster.StartAll();
  const std::string job = WriteAdamJob(cluster.folder("."));
  const CommandResult submitted = cluster.Cairn({"submit", job});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
  if (kill_workers) KillSome(&cluster, workers);
  const json status = cluster.WaitForEnd("sync", seconds(120));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster.Logs();
  EXPECT_EQ(status.value("workers_lost", 0) > 0, kill_workers) << status;
  const CommandResult exported =
      cluster.Cairn({"export", "sync", "--output", cluster.folder("export")});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  return ReadTfjsWeights(cluster.folder("export"));
}

TEST(Synchronous, WeightsAreTheSameBitsWithOneTwoAndFiveWorkersAndWhenWorkersDie) {
  const auto one = TrainOn(1, false);
  ExpectSameBits(one, TrainOn(2, false));
  ExpectSameBits(one, TrainOn(5, false));
  ExpectSameBits(one, TrainOn(3, /*kill_workers=*/true));
}

std::map<std::string, Array> TrainWide(TestCluster* cluster, const AdamJob& job,
                                       const std::function<void()>& meanwhile = nullptr) {
  const CommandResult submitted =
      cluster->Cairn({"submit", WriteAdamJob(cluster->folder("."), job)});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
  if (meanwhile != nullptr) meanwhile();
  const json status = cluster->WaitForEnd(job.name, seconds(60));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster->Logs();
  const std::string folder = cluster->folder("export-" + job.name);
  const CommandResult exported = cluster->Cairn({"export", job.name, "--output", folder});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  return ReadTfjsWeights(folder);
}

// All combinations of batches per update and workers, below and above a worker's first lease (8
// batches) and the number of gradients that it keeps (16).
TEST(Synchronous, UpdatesOfAnyWidthAreTheSameBitsWithAnyNumberOfWorkers) {
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/3);
  cluster.Start("chief", 0);
  for (const int ps : {0, 1}) cluster.Start("ps", ps);
  std::map<int64_t, std::map<std::string, Array>> weights;
  for (const int workers : {1, 2, 3}) {
    cluster.Start("worker", workers - 1);
    for (const int64_t width : {1, 8, 9, 16, 50, 100, 300}) {
      SCOPED_TRACE("workers " + std::to_string(workers) + ", width " + std::to_string(width));
      const std::string name = "w" + std::to_string(workers) + "-g" + std::to_string(width);
      const auto result =
          TrainWide(&cluster, {.name = name, .batches_per_update = width, .epochs = 2});
      if (workers == 1) {
        weights[width] = result;
      } else {
        ExpectSameBits(weights[width], result);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(Synchronous, OneWorkerFinishesTheUpdatesThatThreeBegan) {
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/3);
  cluster.StartAll();
  AdamJob job = {.name = "three", .batches_per_update = 50};
  const auto kill_two = [&] {
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      const json status = cluster.Status("three");
      return status.value("batches_done", 0) >= 100 && status.value("workers_live", 0) == 3;
    })) << cluster.Logs();
    cluster.task("worker", 0).Kill();
    cluster.task("worker", 2).Kill();
  };
  const auto three = TrainWide(&cluster, job, kill_two);
  EXPECT_EQ(cluster.Status("three").value("workers_lost", 0), 2);
  job.name = "one";
  ExpectSameBits(three, TrainWide(&cluster, job));
}

}  // namespace
}  // namespace cairn::testing
