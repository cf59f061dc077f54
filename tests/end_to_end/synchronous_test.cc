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
using std::chrono::milliseconds;
using std::chrono::seconds;

std::map<std::string, Array> TrainOn(int workers, bool kill_workers) {
  TestCluster cluster(/*ps_count=*/2, workers);
  cluster.StartAll();
  const std::string job = WriteAdamJob(cluster.folder("."), /*checkpoint_every=*/0);
  const CommandResult submitted = cluster.Cairn({"submit", job});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
  std::mt19937 random(3);
  for (int kills = 0; kill_workers && kills < 4; ++kills) {
    std::this_thread::sleep_for(milliseconds(200 + random() % 300));
    const int index = static_cast<int>(random() % workers);
    cluster.task("worker", index).Kill();
    cluster.Start("worker", index);
  }
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
