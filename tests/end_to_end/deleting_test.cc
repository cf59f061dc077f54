// `cairn delete` on a real cluster: an ended job is removed from the coordinator and from the disk
// of every ps, including a ps that did not run, and does not come back.

#include <chrono>
#include <filesystem>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kRows = 4096;

class Deleting : public ::testing::Test {
 protected:
  Deleting() : cluster_(/*ps_count=*/2, /*worker_count=*/1) { cluster_.StartAll(); }

  std::string Submit(const CountingJob& job) {
    const std::string folder = cluster_.folder(job.name + std::to_string(++jobs_));
    std::filesystem::create_directories(folder);
    const CommandResult submitted = cluster_.Cairn({"submit", WriteCountingJob(job, folder)});
    EXPECT_EQ(submitted.exit_code, 0) << submitted.errors;
    return folder;
  }

  void Train(const CountingJob& job) {
    Submit(job);
    const auto status = cluster_.WaitForEnd(job.name, seconds(120));
    EXPECT_EQ(status.value("state", ""), "finished") << status << cluster_.Logs();
  }

  // The snapshots on the disk of a ps.
  std::set<std::string> Snapshots(int ps) const {
    std::set<std::string> names;
    const std::string folder = cluster_.folder("state") + "/ps-" + std::to_string(ps);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".sst") names.insert(entry.path().filename());
    }
    return names;
  }

  bool WaitForEmptyDisk(int ps) {
    return WaitUntil(seconds(60), [&] { return Snapshots(ps).empty(); });
  }

  TestCluster cluster_;
  int jobs_ = 0;
};

CountingJob ShortJob(const std::string& name) {
  CountingJob job;
  job.name = name;
  job.batches = job.batches_per_epoch = 200;
  job.rows = kRows;
  job.checkpoint_every = 50;
  return job;
}

TEST_F(Deleting, AJobThatHasEndedIsGoneFromEveryDiskAndItsNameIsFree) {
  Train(ShortJob("old"));
  Train(ShortJob("kept"));
  ASSERT_THAT(Snapshots(0), Not(IsEmpty()));

  const CommandResult deleted = cluster_.Cairn({"delete", "old", "--json"});
  ASSERT_EQ(deleted.exit_code, 0) << deleted.errors;
  EXPECT_EQ(deleted.lines().at(0)["job"], 1);
  EXPECT_GT(deleted.lines().at(0)["checkpoints"], 0);
  // Each checkpoint has at least one value for each row.
  EXPECT_GT(deleted.lines().at(0)["bytes"], kRows * sizeof(float));
  for (int ps : {0, 1}) {
    EXPECT_TRUE(WaitUntil(seconds(60),
                          [&] {
                            for (const std::string& name : Snapshots(ps)) {
                              if (name.rfind("job-1.", 0) == 0) return false;
                            }
                            return true;
                          }))
        << "ps " << ps;
  }
  EXPECT_EQ(cluster_.Cairn({"status", "old"}).exit_code, 2);
  EXPECT_EQ(cluster_.Cairn({"delete", "old"}).exit_code, 2);

  // The other job is intact, and the name can be used again.
  for (const std::string name : {"kept", "old"}) {
    if (name == "old") Train(ShortJob("old"));
    const std::string folder = cluster_.folder("export-" + name);
    ASSERT_EQ(cluster_.Cairn({"export", name, "--output", folder}).exit_code, 0);
    EXPECT_EQ(CountIsNot(200, folder, kRows), "");
  }
  EXPECT_THAT(cluster_.Cairn({"jobs", "--json"}).lines(), SizeIs(2));
}

TEST_F(Deleting, AJobThatRunsIsNotDeleted) {
  Submit(EndlessCountingJob());
  const std::string name = EndlessCountingJob().name;
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return cluster_.Status(name)["batches_done"] > 0; }));
  const CommandResult refused = cluster_.Cairn({"delete", name});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("cairn cancel"));
  EXPECT_EQ(cluster_.Status(name)["state"], "running");
  EXPECT_EQ(cluster_.Cairn({"cancel", name}).exit_code, 0);
  cluster_.WaitForEnd(name, seconds(60));
  EXPECT_EQ(cluster_.Cairn({"delete", name}).exit_code, 0);
  for (int ps : {0, 1}) EXPECT_TRUE(WaitForEmptyDisk(ps)) << "ps " << ps;
}

TEST_F(Deleting, APsThatWasAwayDeletesItsPartWhenItIsBackAlsoAfterTheCoordinatorDied) {
  Train(ShortJob("old"));
  cluster_.task("ps", 1).Kill();
  ASSERT_EQ(cluster_.Cairn({"delete", "old"}).exit_code, 0);
  cluster_.task("chief", 0).Kill();
  EXPECT_THAT(Snapshots(1), Not(IsEmpty()));
  cluster_.StartAll();
  for (int ps : {0, 1}) EXPECT_TRUE(WaitForEmptyDisk(ps)) << "ps " << ps << cluster_.Logs();
  EXPECT_THAT(cluster_.Cairn({"jobs", "--json"}).lines(), IsEmpty());
  Train(ShortJob("next"));
}

}  // namespace
}  // namespace cairn::testing
