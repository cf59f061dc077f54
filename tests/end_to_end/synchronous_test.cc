// Synchronous training: the result depends neither on how many workers there are nor on who dies.

#include <signal.h>

#include <random>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/adam_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

// Four times one of the workers, when all are there and have got on.
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
  const std::string job = WriteAdamJob(cluster.folder("."), /*checkpoint_every=*/0);
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

}  // namespace
}  // namespace cairn::testing
