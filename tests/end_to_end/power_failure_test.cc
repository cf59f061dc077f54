// The machines of a cluster lose power, again and again: all processes die, and what they have not
// synced is lost (see PowerFailure). Every batch has a gradient of its own, so the final weights
// tell that each batch counted exactly once.

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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
int PowerFailures() {
  const char* value = std::getenv("CAIRN_DRILL_FAULTS");
  return value != nullptr ? std::atoi(value) : 4;
}

class PowerFailureEndToEndTest : public ::testing::TestWithParam<std::string> {};

TEST_P(PowerFailureEndToEndTest, EveryBatchCountsOnce) {
  CountingJob job;
  job.batches = 20000;
  job.checkpoint_every = 200;
  job.distinct = true;
  const std::map<std::string, std::string> more = {
      {"async", ""}, {"stale", R"(, "window": 3)"}, {"sync", R"(, "batches_per_update": 4)"}};
  job.strategy = absl::StrCat(R"({"parameter_server": {"mode": ")", GetParam(), "\"",
                              more.at(GetParam()), "}}");
  if (GetParam() == "sync") job.batches_per_update = 4;
  TestCluster cluster(2, 2);
  cluster.RecordSyncs();
  const std::vector<const FaultyFiles*> disks = {
      &cluster.FilesOf("chief", 0), &cluster.FilesOf("ps", 0), &cluster.FilesOf("ps", 1)};
  cluster.StartAll();
  const std::string file = WriteCountingJob(job, cluster.folder("job"));
  const CommandResult submitted = cluster.Cairn({"submit", file});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.output << submitted.errors;

  std::mt19937 random(1);
  const auto done = [&] { return cluster.Status("count").value("batches_done", int64_t{0}); };
  int changed_files = 0;
  for (int i = 0; i < PowerFailures(); ++i) {
    // Progress, and then any moment: of a checkpoint, its deletion, a restart.
    const int64_t before = done();
    ASSERT_TRUE(WaitUntil(seconds(60), [&] { return done() >= before + 300; }))
        << cluster.Status("count") << cluster.Logs();
    if (i % 2 == 0) {
      std::this_thread::sleep_for(milliseconds(random() % 500));
    } else {
      // The moment between a write and its sync, which chance finds too rarely.
      const FaultyFiles* disk = disks[random() % disks.size()];
      const int fired = disk->fired();
      disk->Set({{"sync", "state", 0}});
      ASSERT_TRUE(WaitUntil(seconds(60), [&] { return disk->fired() > fired; }))
          << cluster.Status("count") << cluster.Logs();
    }
    changed_files += cluster.LosePower();
    for (const FaultyFiles* disk : disks) disk->Clear();
    cluster.StartAll();
  }
  const json status = cluster.WaitForEnd("count", seconds(240));
  ASSERT_EQ(status.value("state", ""), "finished") << status << cluster.Logs();
  EXPECT_GE(status.value("rollbacks", 0), PowerFailures()) << status;
  const CommandResult exported =
      cluster.Cairn({"export", "count", "--output", cluster.folder("export")});
  ASSERT_EQ(exported.exit_code, 0) << exported.errors;
  EXPECT_GT(changed_files, 0) << "nothing was lost: the failures have shown nothing";
  EXPECT_EQ(SumIsNot(job, cluster.folder("export")), "");
}

INSTANTIATE_TEST_SUITE_P(Modes, PowerFailureEndToEndTest,
                         ::testing::Values("async", "stale", "sync"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cairn::testing
