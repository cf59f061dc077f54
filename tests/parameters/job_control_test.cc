#include "parameters/job_control.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/common/faulty_files.h"
#include "tests/common/no_more_threads.h"
#include "tests/parameters/test_disk.h"
#include "tests/parameters/test_store.h"

namespace cairn::parameters {
namespace {

class JobControlTest : public ::testing::Test {
 protected:
  JobControlTest()
      : owners_(2, 100),
        store_(0),
        uploads_(disk_.store()),
        catalog_(0, disk_.store(), ""),
        fetcher_("ps 0") {
    JobControl::Parts parts;
    parts.store = &store_;
    parts.uploads = &uploads_;
    parts.snapshots = disk_.store();
    parts.catalog = &catalog_;
    parts.fetcher = &fetcher_;
    parts.pool = &pool_;
    parts.owners = &owners_;
    control_ = std::make_unique<JobControl>(parts, [this](proto::TaskMessage message) {
      if (message.has_persisted()) writers_niceness_ = getpriority(PRIO_PROCESS, 0);
      sent_.Put(std::move(message));
    });
  }

  proto::RestoreReply Restore(uint64_t generation, uint64_t checkpoint, uint64_t job_id = 7) {
    TestJobOptions options;
    options.job_id = job_id;
    proto::Command command;
    *command.mutable_restore()->mutable_plan() = MakePlan(options);
    command.mutable_restore()->set_generation(generation);
    command.mutable_restore()->set_checkpoint(checkpoint);
    control_->Handle(command);
    return sent_.Take().restored();
  }

  proto::CutReply Cut(uint64_t generation, uint64_t cut) {
    proto::Command command;
    command.mutable_make_cut()->set_job_id(7);
    command.mutable_make_cut()->set_generation(generation);
    command.mutable_make_cut()->set_cut(cut);
    control_->Handle(command);
    return sent_.Take().cut();
  }

  proto::PersistReply Persist(uint64_t generation, uint64_t cut) {
    proto::Command command;
    command.mutable_persist()->set_job_id(7);
    command.mutable_persist()->set_generation(generation);
    command.mutable_persist()->set_cut(cut);
    control_->Handle(command);
    return sent_.Take().persisted();
  }

  TestDisk disk_;
  BufferPool pool_;
  OwnerThreads owners_;
  ParameterStore store_;
  UploadStore uploads_;
  SnapshotCatalog catalog_;
  SnapshotFetcher fetcher_;
  Mailbox<proto::TaskMessage> sent_;
  // The nice value of the thread that reported the last snapshot: its writer, or the test's thread
  // if it was refused.
  std::atomic<int> writers_niceness_ = 0;
  std::unique_ptr<JobControl> control_;
};

TEST_F(JobControlTest, AFailedRestoreLeavesNoJobBehind) {
  EXPECT_EQ(Restore(1, 0).error(), "");
  EXPECT_NE(Restore(2, 5).error(), "");
  EXPECT_EQ(store_.current(), nullptr);
  // The coordinator tries the previous checkpoint in the same generation.
  EXPECT_EQ(Restore(2, 0).error(), "");
  EXPECT_EQ(store_.current()->generation(), 2);
}

TEST_F(JobControlTest, ARestoreOfTheSameJobNeedsNoPlan) {
  proto::Command command;
  proto::Restore* restore = command.mutable_restore();
  *restore->mutable_plan() = MakePlan({});
  const uint64_t job_id = restore->plan().job_id();
  restore->set_job_id(job_id);
  restore->set_generation(1);
  restore->set_plan_fingerprint(9);
  control_->Handle(command);
  EXPECT_EQ(sent_.Take().restored().error(), "");
  proto::Join join;
  control_->FillJoin(&join);
  EXPECT_EQ(join.plan_fingerprint(), 9u);
  restore->clear_plan();
  restore->set_generation(2);
  control_->Handle(command);
  proto::RestoreReply reply = sent_.Take().restored();
  EXPECT_EQ(reply.error(), "");
  EXPECT_EQ(reply.job_id(), job_id);
  EXPECT_EQ(store_.current()->generation(), 2);
  // Another plan is missing here.
  restore->set_generation(3);
  restore->set_plan_fingerprint(10);
  control_->Handle(command);
  reply = sent_.Take().restored();
  EXPECT_TRUE(reply.transient());
  EXPECT_EQ(reply.job_id(), job_id);
}

TEST_F(JobControlTest, AnotherCheckpointInTheSameGenerationIsRestored) {
  Restore(1, 0);
  Cut(1, 1);
  EXPECT_EQ(Persist(1, 1).error(), "");
  EXPECT_EQ(Restore(2, 0).error(), "");
  EXPECT_EQ(Restore(2, 1).error(), "");
  EXPECT_EQ(store_.current()->checkpoint(), 1);
}

TEST_F(JobControlTest, SnapshotsAreWrittenWithALowerPriority) {
  Restore(1, 0);
  Cut(1, 1);
  EXPECT_EQ(Persist(1, 1).error(), "");
  const int own = getpriority(PRIO_PROCESS, 0);
  EXPECT_GE(writers_niceness_, std::min(own + 1, 19));
}

TEST_F(JobControlTest, ANewJobReplacesTheCurrentOne) {
  Restore(4, 0);
  EXPECT_EQ(Restore(1, 0, 8).error(), "");
  EXPECT_EQ(store_.current()->layout()->job_id(), 8);
}

TEST_F(JobControlTest, CutsOfAnotherGenerationAreRefused) {
  Restore(2, 0);
  EXPECT_NE(Cut(1, 1).error(), "");
  EXPECT_EQ(Cut(2, 1).error(), "");
  EXPECT_EQ(Cut(2, 1).job_id(), 7u);
  EXPECT_NE(Persist(2, 9).error(), "");
  EXPECT_EQ(Persist(2, 9).job_id(), 7u);
  EXPECT_EQ(Persist(2, 1).job_id(), 7u);
  EXPECT_NE(Persist(1, 1).error(), "");
  // A rollback drops cuts; their numbers are not reused.
  Restore(3, 0);
  EXPECT_NE(Persist(3, 1).error(), "");
}

TEST_F(JobControlTest, AStoppedJobFreesItsMemoryAndOnRequestItsDisk) {
  Restore(1, 0);
  Cut(1, 1);
  EXPECT_EQ(Persist(1, 1).error(), "");
  proto::Command command;
  command.mutable_stop_job()->set_job_id(8);
  control_->Handle(command);
  EXPECT_NE(store_.current(), nullptr);
  command.mutable_stop_job()->set_job_id(7);
  control_->Handle(command);
  EXPECT_EQ(store_.current(), nullptr);
  EXPECT_EQ(disk_.store()->ListSnapshots(7)->size(), 1u);
  command.mutable_stop_job()->set_delete_data(true);
  control_->Handle(command);
  control_->Stop();  // Returns when all queued tasks have run.
  EXPECT_TRUE(disk_.store()->ListSnapshots(7)->empty());
}

TEST_F(JobControlTest, ADeletedJobLeavesNoPendingWrites) {
  Restore(1, 0);
  Cut(1, 1);
  proto::Command command;
  command.mutable_persist()->set_job_id(7);
  command.mutable_persist()->set_generation(1);
  command.mutable_persist()->set_cut(1);
  control_->Handle(command);
  command.mutable_stop_job()->set_job_id(7);
  command.mutable_stop_job()->set_delete_data(true);
  control_->Handle(command);
  EXPECT_EQ(sent_.Take().persisted().error(), "") << "it was written meanwhile";
  control_->Stop();  // Returns when all queued tasks have run.
  EXPECT_TRUE(disk_.store()->ListSnapshots(7)->empty());
}

TEST_F(JobControlTest, DeletesOneCheckpointAndKeepsTheOthers) {
  Restore(1, 0);
  for (const uint64_t cut : {1, 2}) {
    Cut(1, cut);
    EXPECT_EQ(Persist(1, cut).error(), "");
  }
  proto::Command command;
  command.mutable_delete_checkpoint()->set_job_id(7);
  command.mutable_delete_checkpoint()->set_checkpoint(1);
  control_->Handle(command);
  control_->Stop();  // Returns when all queued tasks have run.
  EXPECT_EQ(*disk_.store()->ListSnapshots(7), std::vector<uint64_t>{2});
}

// A disk that hangs fills the queue. The snapshot that was refused for that can be written later.
TEST_F(JobControlTest, ASnapshotThatWasRefusedByAFullQueueIsWrittenWhenTheDiskIsBack) {
  const std::string rules = ::testing::TempDir() + "/job_control_rules";
  const testing::FaultyFiles files(rules);
  files.Clear();
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  Restore(1, 0);
  Cut(1, 1);
  files.Set({{"write", "/ps-disk-"}, {"sync", "/ps-disk-"}});
  proto::Command command;
  command.mutable_persist()->set_job_id(7);
  command.mutable_persist()->set_generation(1);
  command.mutable_persist()->set_cut(1);
  control_->Handle(command);
  while (files.fired() == 0) std::this_thread::yield();
  Cut(1, 2);
  proto::Command deletion;
  deletion.mutable_delete_checkpoint()->set_job_id(7);
  deletion.mutable_delete_checkpoint()->set_checkpoint(9);
  for (int i = 0; i < 40; ++i) control_->Handle(deletion);
  EXPECT_NE(Persist(1, 2).error(), "");
  files.Clear();
  EXPECT_EQ(sent_.Take().persisted().cut(), 1u);
  proto::PersistReply again = Persist(1, 2);
  // The deletions may still be in the queue.
  while (again.error().find("too many") != std::string::npos) again = Persist(1, 2);
  EXPECT_EQ(again.error(), "");
  EXPECT_EQ(again.cut(), 2u);
  unsetenv("CAIRN_FAULTY_FILES");
}

// The disk hangs while a checkpoint is loaded. The ps takes other commands, and the next load does
// not wait for the first one, which has no effect when it goes on.
TEST_F(JobControlTest, ALoadThatHangsIsReplacedByTheNext) {
  const std::string rules = ::testing::TempDir() + "/job_control_load_rules";
  const testing::FaultyFiles files(rules);
  files.Clear();
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  Restore(1, 0);
  Cut(1, 1);
  EXPECT_EQ(Persist(1, 1).error(), "");
  files.Set({{"read", "/ps-disk-"}});
  proto::Command load;
  *load.mutable_restore()->mutable_plan() = MakePlan({.job_id = 7});
  load.mutable_restore()->set_generation(2);
  load.mutable_restore()->set_checkpoint(1);
  control_->Handle(load);
  control_->Handle(load);  // Repeated: the coordinator's stream broke.
  while (files.fired() == 0) std::this_thread::yield();
  proto::Command query;
  query.mutable_ledger_query()->set_job_id(7);
  control_->Handle(query);
  EXPECT_TRUE(sent_.Take().has_ledger());
  EXPECT_EQ(Restore(3, 0).error(), "");
  files.Clear();
  EXPECT_EQ(Restore(4, 1).error(), "");
  EXPECT_EQ(store_.current()->generation(), 4u);
  control_->Stop();  // Waits for the first load.
  EXPECT_EQ(store_.current()->generation(), 4u);
  unsetenv("CAIRN_FAULTY_FILES");
}

TEST_F(JobControlTest, AStoppedJobIsNotInstalledByALoadThatGoesOn) {
  const std::string rules = ::testing::TempDir() + "/job_control_stop_rules";
  const testing::FaultyFiles files(rules);
  files.Clear();
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  Restore(1, 0);
  Cut(1, 1);
  EXPECT_EQ(Persist(1, 1).error(), "");
  files.Set({{"read", "/ps-disk-"}});
  proto::Command command;
  *command.mutable_restore()->mutable_plan() = MakePlan({.job_id = 7});
  command.mutable_restore()->set_generation(2);
  command.mutable_restore()->set_checkpoint(1);
  control_->Handle(command);
  while (files.fired() == 0) std::this_thread::yield();
  command.mutable_stop_job()->set_job_id(7);
  control_->Handle(command);
  files.Clear();
  control_->Stop();  // Waits for the load.
  EXPECT_EQ(store_.current(), nullptr);
  unsetenv("CAIRN_FAULTY_FILES");
}

// A rollback must not hold the values of two generations.
TEST_F(JobControlTest, ACutOfAnOlderGenerationIsNotWrittenToItsEnd) {
  const std::string rules = ::testing::TempDir() + "/job_control_cut_rules";
  const testing::FaultyFiles files(rules);
  files.Clear();
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  Restore(1, 0);
  Cut(1, 1);
  files.Set({{"write", "/ps-disk-"}});
  proto::Command command;
  for (const uint64_t cut : {1, 2}) {
    command.mutable_persist()->set_job_id(7);
    command.mutable_persist()->set_generation(1);
    command.mutable_persist()->set_cut(cut);
    control_->Handle(command);
    if (cut == 1) Cut(1, 2);
  }
  while (files.fired() == 0) std::this_thread::yield();
  command.Clear();
  *command.mutable_restore()->mutable_plan() = MakePlan({.job_id = 7});
  command.mutable_restore()->set_generation(2);
  control_->Handle(command);
  files.Clear();
  // The cuts end before the new generation is loaded. The second one was never begun.
  sent_.Take();
  EXPECT_NE(sent_.Take().persisted().error().find("generation"), std::string::npos);
  EXPECT_EQ(sent_.Take().restored().error(), "");
  unsetenv("CAIRN_FAULTY_FILES");
}

// Each row of the kernel is a block of 64 MB; there is half as much memory.
TEST_F(JobControlTest, MemoryThatIsShortIsReportedWithTheBytesAndLeavesNothingBehind) {
#if defined(__SANITIZE_ADDRESS__) || defined(CAIRN_THREAD_SANITIZER)
  GTEST_SKIP() << "a sanitizer ends the process if it gets no memory";
#endif
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = pages * sysconf(_SC_PAGESIZE) + (32 << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &lower), 0);
  proto::Command command;
  *command.mutable_restore()->mutable_plan() = MakePlan({.job_id = 7, .hidden_units = 16000000});
  command.mutable_restore()->set_generation(1);
  control_->Handle(command);
  const proto::RestoreReply reply = sent_.Take().restored();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_TRUE(reply.transient());
  EXPECT_EQ(reply.exhausted_bytes(), 64000000u);
  EXPECT_NE(reply.error().find("64000000 bytes"), std::string::npos) << reply.error();
  EXPECT_EQ(pool_.unused_bytes(), 0);
  EXPECT_EQ(Restore(2, 0).error(), "");
}

TEST_F(JobControlTest, AThreadThatCannotBeStartedIsReportedWithTheBytesAndTheNextLoadRuns) {
  proto::RestoreReply reply;
  {
    const testing::NoMoreThreads limit;
    std::latch over(1);
    std::thread only([&] { over.wait(); });
    reply = Restore(1, 0);
    over.count_down();
    only.join();
  }
  EXPECT_TRUE(reply.transient());
  EXPECT_GT(reply.exhausted_bytes(), 0u);
  EXPECT_NE(reply.error().find("no memory for a thread to load the job"), std::string::npos)
      << reply.error();
  EXPECT_EQ(Restore(2, 0).error(), "");
}

TEST_F(JobControlTest, RepliesOnlyToRatesOfItsGeneration) {
  Restore(2, 0);
  proto::Command command;
  proto::SetRates* set = command.mutable_set_rates();
  set->set_job_id(7);
  set->set_generation(1);
  set->add_rates();
  set->add_rates()->set_from_batch(10);
  control_->Handle(command);
  set->set_generation(2);
  control_->Handle(command);
  const proto::RatesReply reply = sent_.Take().rates_set();
  EXPECT_EQ(reply.generation(), 2);
  EXPECT_EQ(reply.changes(), 2);
}

TEST_F(JobControlTest, ListsSnapshotsAndReportsAFailedCopy) {
  Restore(1, 0);
  Cut(1, 1);
  const proto::SnapshotPart part = Persist(1, 1).part();
  proto::Command command;
  command.mutable_list_snapshots()->set_job_id(7);
  control_->Handle(command);
  const proto::SnapshotList list = sent_.Take().snapshots();
  ASSERT_EQ(list.snapshots_size(), 1);
  EXPECT_EQ(list.snapshots(0).checkpoint(), 1u);
  EXPECT_EQ(list.snapshots(0).part().checksum(), part.checksum());
  EXPECT_TRUE(list.snapshots(0).own_disk());

  command.mutable_copy_snapshot()->set_job_id(7);
  command.mutable_copy_snapshot()->set_checkpoint(1);
  command.mutable_copy_snapshot()->mutable_part()->set_ps(3);
  control_->Handle(command);
  EXPECT_NE(sent_.Take().copied().error().find("generation"), std::string::npos);
  command.mutable_copy_snapshot()->set_generation(1);
  fetcher_.SetCluster({"127.0.0.1:1"}, 1);
  control_->Handle(command);
  const proto::CopyReply copied = sent_.Take().copied();
  EXPECT_EQ(copied.checkpoint(), 1u);
  EXPECT_EQ(copied.part(), 3u);
  EXPECT_NE(copied.error(), "");
}

TEST_F(JobControlTest, AJoinHasTheJobInMemory) {
  proto::Join join;
  control_->FillJoin(&join);
  EXPECT_EQ(join.job_id(), 0);
  Restore(3, 0);
  control_->FillJoin(&join);
  EXPECT_EQ(join.job_id(), 7);
  EXPECT_EQ(join.generation(), 3);
}

TEST_F(JobControlTest, AnInvalidPlanIsAnError) {
  proto::Command command;
  command.mutable_restore()->set_generation(1);
  control_->Handle(command);
  EXPECT_NE(sent_.Take().restored().error(), "");
  control_->Handle(proto::Command());
}

}  // namespace
}  // namespace cairn::parameters
