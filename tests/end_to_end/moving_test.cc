// Lost disks, and clusters that grow and shrink: the job continues from its last checkpoint, reads
// its blocks from the ps that have them, and gives the same result as without the change.

#include <functional>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/adam_job.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class Moving : public ::testing::Test {
 protected:
  static void Submit(TestCluster* cluster, const std::string& file) {
    const CommandResult submitted = cluster->Cairn({"submit", file});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.output << submitted.errors;
  }

  static void WaitForBatches(TestCluster* cluster, int64_t batches) {
    const auto done = [&] { return cluster->Status("count").value("batches_done", int64_t{0}); };
    ASSERT_TRUE(WaitUntil(seconds(90), [&] { return done() >= batches; }))
        << cluster->Status("count") << cluster->Logs();
  }

  // Waits until this many batches are done, and takes a checkpoint with its copies. It is the
  // newest one, since CheckpointsOnDemand makes no other.
  static void TakeCheckpoint(TestCluster* cluster, int64_t batches) {
    ASSERT_NO_FATAL_FAILURE(WaitForBatches(cluster, batches));
    const CommandResult taken = cluster->Cairn({"checkpoint", "count"});
    ASSERT_EQ(taken.exit_code, 0) << taken.errors;
    const auto lines = cluster->Cairn({"checkpoints", "count", "--json"}).lines();
    ASSERT_FALSE(lines.empty());
    ASSERT_EQ(lines.back().value("copies", 0), 2) << lines.back();
  }

  static json Finish(TestCluster* cluster, const std::string& job) {
    const json status = cluster->WaitForEnd(job, seconds(240));
    EXPECT_EQ(status.value("state", ""), "finished") << status << cluster->Logs();
    const CommandResult exported =
        cluster->Cairn({"export", job, "--output", cluster->folder("export")});
    EXPECT_EQ(exported.exit_code, 0) << exported.errors;
    return status;
  }

  static CountingJob LongCount() {
    CountingJob job;
    job.batches = 30000;
    job.checkpoint_every = 500;
    return job;
  }

  static CountingJob CheckpointsOnDemand() {
    CountingJob job = LongCount();
    job.checkpoint_every = 0;
    job.more = R"({"checkpoint": {"every_epochs": 30}})";
    return job;
  }
};

TEST_F(Moving, TheCountIsExactOnTwoThenThreeThenOneParameterServer) {
  const CountingJob job = LongCount();
  TestCluster cluster(/*ps_count=*/2, /*worker_count=*/2);
  cluster.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(&cluster, WriteCountingJob(job, cluster.folder("job"))));
  int64_t batches = 1500;
  for (const int ps_count : {3, 1}) {
    ASSERT_NO_FATAL_FAILURE(WaitForBatches(&cluster, batches));
    cluster.KillAll();
    cluster.Resize("ps", ps_count);
    cluster.StartAll();
    batches += 4000;
  }
  const json status = Finish(&cluster, "count");
  EXPECT_EQ(CountIsNot(job.batches, cluster.folder("export"), job.rows), "");
  EXPECT_EQ(status.value("rollbacks", 0), 2) << status;
}

// Machines with separate disks: the snapshot of ps 1 is restored from the copy on ps 0.
TEST_F(Moving, WithDisksOfTheirOwnTheCopyOfTheOneThatIsGoneServes) {
  const CountingJob job = CheckpointsOnDemand();
  TestCluster cluster(2, 2);
  cluster.SeparateDisks();
  cluster.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(&cluster, WriteCountingJob(job, cluster.folder("job"))));
  ASSERT_NO_FATAL_FAILURE(TakeCheckpoint(&cluster, 1500));
  cluster.KillAll();
  cluster.Resize("ps", 1);
  cluster.StartAll();
  Finish(&cluster, "count");
  EXPECT_EQ(CountIsNot(job.batches, cluster.folder("export"), job.rows), "");
}

TEST_F(Moving, APsThatComesBackWithAnEmptyDiskGoesOnFromItsNeighboursCopy) {
  const CountingJob job = CheckpointsOnDemand();
  TestCluster cluster(2, 2);
  cluster.SeparateDisks();
  cluster.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(&cluster, WriteCountingJob(job, cluster.folder("job"))));
  ASSERT_NO_FATAL_FAILURE(TakeCheckpoint(&cluster, 3000));
  cluster.task("ps", 1).Kill();
  cluster.WipeDisk(1);
  cluster.Start("ps", 1);
  const json status = Finish(&cluster, "count");
  EXPECT_EQ(CountIsNot(job.batches, cluster.folder("export"), job.rows), "");
  EXPECT_EQ(status.value("rollbacks", 0), 1) << status;
  EXPECT_NE(status.dump().find("ps 1 came back without its snapshots"), std::string::npos);
  EXPECT_EQ(status.dump().find("initial values"), std::string::npos) << status;
}

std::map<std::string, Array> TrainAdam(const std::function<void(TestCluster*)>& disturb) {
  TestCluster cluster(2, 2);
  cluster.StartAll();
  const std::string job = WriteAdamJob(cluster.folder("."), {.checkpoint_every = 100});
  const CommandResult submitted = cluster.Cairn({"submit", job});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
  disturb(&cluster);
  const json status = cluster.WaitForEnd("sync", seconds(240));
  EXPECT_EQ(status.value("state", ""), "finished") << status << cluster.Logs();
  const CommandResult exported =
      cluster.Cairn({"export", "sync", "--output", cluster.folder("export")});
  EXPECT_EQ(exported.exit_code, 0) << exported.errors;
  return ReadTfjsWeights(cluster.folder("export"));
}

// Values, Adam's moments, update counts and ledgers must all be moved for equal bits.
TEST_F(Moving, SynchronousWeightsAreTheSameBitsWhenTheBlocksHaveMovedTwice) {
  const auto undisturbed = TrainAdam([](TestCluster*) {});
  ExpectSameBits(undisturbed, TrainAdam([](TestCluster* cluster) {
                   int64_t batches = 400;
                   for (const int ps_count : {3, 1}) {
                     ASSERT_TRUE(WaitUntil(seconds(90), [&] {
                       const json status = cluster->Status("sync");
                       return status.value("batches_done", int64_t{0}) >= batches;
                     })) << cluster->Logs();
                     cluster->KillAll();
                     cluster->Resize("ps", ps_count);
                     cluster->StartAll();
                     batches += 600;
                   }
                 }));
}

}  // namespace
}  // namespace cairn::testing
