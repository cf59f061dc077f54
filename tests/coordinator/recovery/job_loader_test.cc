#include "coordinator/recovery/job_loader.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/coordinator/simulated_job.h"
#include "tests/coordinator/simulation.h"

namespace cairn::coordinator {
namespace {

// The rules of recovery, seen from outside: a cluster without other faults, whose disks the test
// removes and puts back. (Faults at any time: simulation_test.)
class JobLoaderTest : public ::testing::Test {
 protected:
  void Start(int ps, const proto::Job& job) {
    Simulation::Options options = SimulatedCluster(job);
    options.ps = ps;
    simulation_ = std::make_unique<Simulation>(options);
  }
  static proto::Job LongJob() { return SimulatedJob("async", 30); }

  void RunUntilCheckpoint(uint64_t checkpoint) {
    ASSERT_TRUE(simulation_->RunUntil([&] {
      return Status().last_checkpoint() >= checkpoint && simulation_->HasCompleteCopies();
    })) << Status().DebugString();
  }
  void Finish() {
    ASSERT_TRUE(simulation_->Run()) << Status().DebugString();
    simulation_->CheckFinished();
  }
  proto::JobStatus Status() { return simulation_->Status(); }
  absl::Duration Now() {
    absl::Duration at;
    simulation_->Do([&](Scheduler*, EventTime now, Outbox*) { at = now.monotonic; });
    return at;
  }
  bool Noted(const std::string& part) {
    const proto::JobStatus status = Status();
    return std::any_of(status.notes().begin(), status.notes().end(), [&](const proto::Note& note) {
      return absl::StrContains(note.text(), part);
    });
  }

  std::string ReasonOf(uint64_t checkpoint) {
    const auto list = simulation_->scheduler().ListCheckpoints("1");
    EXPECT_TRUE(list.ok()) << list.status();
    for (const proto::Manifest& manifest : list->manifests()) {
      if (manifest.checkpoint() == checkpoint) return manifest.reason();
    }
    return "there is no such checkpoint";
  }

  std::unique_ptr<Simulation> simulation_;
};

TEST_F(JobLoaderTest, AnEmptyDiskIsLoadedFromTheNeighborsCopyAndNoted) {
  Start(3, LongJob());
  RunUntilCheckpoint(5);
  const uint64_t newest = Status().last_checkpoint();
  simulation_->LoseDisk(1);
  ASSERT_TRUE(simulation_->RunUntil([&] { return !Status().warning().empty(); }));
  EXPECT_TRUE(absl::StrContains(Status().warning(), "ps 1 came back without its snapshots"))
      << Status().warning();
  EXPECT_TRUE(Noted(absl::StrCat("back to checkpoint ", newest)));
  // A new checkpoint is made at once; then nothing is missing.
  RunUntilCheckpoint(newest + 1);
  EXPECT_EQ(Status().warning(), "");
  Finish();
  EXPECT_EQ(Status().rollbacks(), 1);
}

TEST_F(JobLoaderTest, WithoutCopiesTheInitialValuesAreTakenAndNothingIsDeletedYet) {
  proto::Job job = LongJob();
  job.mutable_checkpoint()->set_copies(1);
  Start(2, job);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().last_checkpoint() >= 5; }));
  const uint64_t newest = Status().last_checkpoint();
  const SimulatedPs::Disk kept = simulation_->ps(0).disk();
  const SimulatedPs::Disk lost = simulation_->LoseDisk(1);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Noted("back to the initial values"); }));
  EXPECT_TRUE(absl::StrContains(Status().warning(), "was passed over")) << Status().warning();
  EXPECT_EQ(simulation_->ps(0).disk(), kept);
  // It was the wrong disk. The right one comes back before a new checkpoint is made.
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().batches_done() > 2; }));
  simulation_->ps(1).disk() = lost;
  simulation_->KillPs(1);
  ASSERT_TRUE(simulation_->RunUntil([&] {
    return Noted(absl::StrCat("checkpoint ", newest)) &&
           Status().batches_done() > static_cast<int64_t>(newest - 1) * 10;
  })) << Status().DebugString();
  Finish();
}

TEST_F(JobLoaderTest, PassedOverCheckpointsAreDeletedWhenTheNextIsComplete) {
  proto::Job job = LongJob();
  job.mutable_checkpoint()->set_copies(1);
  Start(2, job);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().last_checkpoint() >= 5; }));
  const uint64_t passed_over = Status().last_checkpoint();
  simulation_->LoseDisk(1);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Noted("back to the initial values"); }));
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().warning().empty(); }));
  ASSERT_TRUE(simulation_->RunUntil([&] {
    return !simulation_->ps(0).disk().contains({passed_over, 0});
  }));
  Finish();
}

TEST_F(JobLoaderTest, SnapshotsThatBelongToNoCheckpointAreDeletedAndNoOthers) {
  Start(2, LongJob());
  RunUntilCheckpoint(5);
  const uint64_t newest = Status().last_checkpoint();
  SimulatedPs::Disk& disk = simulation_->ps(0).disk();
  ASSERT_FALSE(disk.contains({1, 0}));
  // A checkpoint that was deleted while this ps was away, its copy, and one with an unused number.
  for (const auto& name : {std::pair(1, 0), std::pair(1, 1), std::pair(99, 0)}) {
    disk[name] = disk.at({newest, 0});
  }
  simulation_->KillPs(1);
  ASSERT_TRUE(simulation_->RunUntil([&] { return !disk.contains({1, 0}); }));
  EXPECT_FALSE(disk.contains({1, 1}));
  EXPECT_TRUE(disk.contains({99, 0}));
  for (const uint32_t part : {0, 1}) {
    EXPECT_TRUE(disk.contains({newest, part}));
    EXPECT_TRUE(disk.contains({newest - 1, part}));
  }
  Finish();
}

TEST_F(JobLoaderTest, ASnapshotThatCannotBeLoadedIsPassedOverForGood) {
  Start(2, LongJob());
  RunUntilCheckpoint(5);
  const uint64_t newest = Status().last_checkpoint();
  simulation_->KillPs(0);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().generation() == 2; }));
  proto::TaskMessage message;
  message.mutable_restored()->set_job_id(1);
  message.mutable_restored()->set_generation(2);
  message.mutable_restored()->set_checkpoint(newest);
  message.mutable_restored()->set_error("its bytes do not have their checksum");
  simulation_->Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnMessage(scheduler->SessionOf(PsTask(1)), message, now, outbox);
  });
  EXPECT_TRUE(Noted("cannot be loaded (ps 1: its bytes do not have their checksum)"));
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().generation() == 3; }));
  EXPECT_TRUE(Noted(absl::StrCat("back to checkpoint ", newest - 1))) << Status().DebugString();
  Finish();
}

TEST_F(JobLoaderTest, ATroubleThatMayPassIsNoReasonToGoBackFurther) {
  Start(2, LongJob());
  RunUntilCheckpoint(5);
  simulation_->KillPs(0);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().generation() == 2; }));
  proto::TaskMessage message;
  message.mutable_restored()->set_job_id(1);
  message.mutable_restored()->set_generation(2);
  message.mutable_restored()->set_checkpoint(Status().last_checkpoint());
  message.mutable_restored()->set_error("ps 0 has not answered for 30s");
  message.mutable_restored()->set_transient(true);
  simulation_->Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnMessage(scheduler->SessionOf(PsTask(1)), message, now, outbox);
  });
  Finish();
  EXPECT_EQ(Status().generation(), 2u);
}

// The memory of a ps is short three times in a row. The next job has its turn.
TEST_F(JobLoaderTest, AJobThatDoesNotFitIntoMemoryFailsAndDoesNotBlockTheQueue) {
  Start(2, LongJob());
  RunUntilCheckpoint(5);
  proto::Job next = SimulatedJob("async", 2);
  next.set_name("next");
  simulation_->Submit(next);
  simulation_->ps(1).set_exhausted_bytes(12345);
  simulation_->KillPs(1);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().state() == proto::FAILED; }))
      << Status().DebugString();
  EXPECT_TRUE(absl::StrContains(Status().error(), "does not fit into memory, in 3 tries"))
      << Status().error();
  EXPECT_TRUE(absl::StrContains(Status().error(), "12345 bytes")) << Status().error();
  simulation_->ps(1).set_exhausted_bytes(0);
  ASSERT_TRUE(simulation_->RunUntil(
      [&] { return simulation_->Status("next").state() == proto::FINISHED; }));
  // With more memory it goes on.
  simulation_->Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->ResumeJob("1", now, outbox).ok());
  });
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().state() == proto::FINISHED; }));
}

TEST_F(JobLoaderTest, AnotherPlaceIsReadWhileADiskHangs) {
  Start(3, LongJob());
  RunUntilCheckpoint(5);
  const uint64_t newest = Status().last_checkpoint();
  simulation_->ps(1).set_reads_hang(true);
  simulation_->KillPs(0);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().generation() == 2; }));
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().state() == proto::RUNNING; }))
      << Status().DebugString();
  EXPECT_TRUE(Noted(absl::StrCat("back to checkpoint ", newest)));
  EXPECT_TRUE(Noted("ps 1 has read nothing for 1m")) << Status().DebugString();
  EXPECT_TRUE(absl::StrContains(Status().warning(), "the disk of ps 1 does not answer"))
      << Status().warning();
  simulation_->ps(1).set_reads_hang(false);
  Finish();
  EXPECT_EQ(Status().generation(), 2u);
}

TEST_F(JobLoaderTest, WithoutCopiesADiskThatHangsIsAwaited) {
  proto::Job job = LongJob();
  job.mutable_checkpoint()->set_copies(1);
  Start(2, job);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().last_checkpoint() >= 5; }));
  simulation_->ps(1).set_reads_hang(true);
  simulation_->KillPs(0);
  ASSERT_TRUE(simulation_->RunUntil([&] {
    return absl::StrContains(Status().waiting_for(), "for the disk of ps 1");
  })) << Status().DebugString();
  EXPECT_EQ(Status().rollbacks(), 1) << "neither the initial values nor an older checkpoint";
  simulation_->ps(1).set_reads_hang(false);
  Finish();
  EXPECT_EQ(Status().generation(), 2u);
}

TEST_F(JobLoaderTest, MorePsTakeOverWholeBlocks) {
  Start(2, LongJob());
  RunUntilCheckpoint(5);
  simulation_->Resize(3);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Noted("its blocks move from 2 to 3 ps"); }));
  Finish();
  EXPECT_FALSE(simulation_->ps(2).blocks().empty());
  EXPECT_EQ(simulation_->scheduler().GetPlan("1")->partition().ps_count(), 3u);
}

TEST_F(JobLoaderTest, FewerPsWaitForASnapshotThatOnlyAMissingOneHas) {
  proto::Job job = LongJob();
  job.mutable_checkpoint()->set_copies(1);
  Start(3, job);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().last_checkpoint() >= 5; }));
  const uint64_t newest = Status().last_checkpoint();
  simulation_->Resize(2);
  ASSERT_TRUE(simulation_->RunUntil([&] {
    return absl::StrContains(Status().waiting_for(), "for the snapshots of ps 2");
  })) << Status().DebugString();
  // Its directory appears beside those of the others.
  SimulatedPs::Disk& disk = simulation_->ps(0).disk();
  disk[{newest, 2}] = simulation_->former_ps(2).disk().at({newest, 2});
  Finish();
  EXPECT_TRUE(Noted("its blocks move from 3 to 2 ps"));
}

TEST_F(JobLoaderTest, AJobThatHasNotBegunStartsOnAnyCluster) {
  Start(3, SimulatedJob("sync", 3));
  simulation_->Resize(1);
  Finish();
  EXPECT_EQ(Status().rollbacks(), 0);
}

// With replicas the job does not go back, so nothing else notices that the newest checkpoint has
// lost a part, and the copy of another one.
TEST_F(JobLoaderTest, AMemberWithReplicasThatHasLostItsDiskLeadsToANewCheckpointAtOnce) {
  proto::Job job = SimulatedJob("mirrored", 1);
  job.mutable_checkpoint()->set_every_steps(60);
  Simulation::Options options = SimulatedCluster(job);
  options.ps = 3;
  options.examples = 10'000;
  simulation_ = std::make_unique<Simulation>(options);
  RunUntilCheckpoint(2);
  for (const int member : {1, 2}) {
    const uint64_t newest = Status().last_checkpoint();
    simulation_->LoseDisk(member);
    ASSERT_TRUE(simulation_->RunUntil([&] { return Status().last_checkpoint() > newest; }))
        << Status().DebugString();
    EXPECT_EQ(ReasonOf(Status().last_checkpoint()), "restored");
    RunUntilCheckpoint(newest + 1);
  }
  // A member that comes back with its disk needs none.
  const uint64_t newest = Status().last_checkpoint();
  simulation_->KillPs(1);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().last_checkpoint() > newest; }));
  EXPECT_EQ(ReasonOf(Status().last_checkpoint()), "steps");
  EXPECT_EQ(Status().rollbacks(), 0);
}

// Without replicas the gaps between members matter only if the job makes no progress, and only if
// the others have all parts of a checkpoint.
TEST_F(JobLoaderTest, WithoutReplicasAMemberIsCutOffOnlyIfTheJobCanGoOn) {
  const struct {
    uint64_t checkpoint;
    int64_t copies;
    bool leaves;
  } cases[] = {{0, 2, false}, {3, 1, false}, {3, 2, true}};
  for (const auto& [checkpoint, copies, leaves] : cases) {
    SCOPED_TRACE(absl::StrCat(checkpoint, " ", copies));
    proto::Job job = SimulatedJob("mirrored", 1);
    job.mutable_strategy()->mutable_multi_worker_mirrored()->set_replicas(false);
    job.mutable_checkpoint()->set_copies(copies);
    job.mutable_checkpoint()->set_every_steps(checkpoint == 0 ? 100'000 : 60);
    Simulation::Options options = SimulatedCluster(job, checkpoint + copies);
    options.progress_timeout = absl::Seconds(5);
    options.examples = 20'000;
    simulation_ = std::make_unique<Simulation>(options);
    ASSERT_TRUE(simulation_->RunUntil([&] {
      return Status().batches_done() > 10 && Status().last_checkpoint() >= checkpoint &&
             (copies == 1 || checkpoint == 0 || simulation_->HasCompleteCopies());
    }));
    simulation_->BreakLink(0, 1);
    simulation_->BreakLink(1, 0);
    if (!leaves) {
      // Worker 2 holds no parameters and reaches all.
      const absl::Duration end = Now() + absl::Seconds(12);
      ASSERT_TRUE(simulation_->RunUntil([&] { return Now() > end; }));
      ASSERT_EQ(Status().state(), proto::RUNNING);
      EXPECT_FALSE(Noted("the job goes on without"));
    }
    for (const int worker : {0, 1, 2}) simulation_->worker(worker).set_hangs(true);
    const absl::Duration end = Now() + absl::Seconds(60);
    ASSERT_TRUE(simulation_->RunUntil([&] { return Now() > end; }));
    EXPECT_TRUE(Noted("no progress for"));
    EXPECT_EQ(Noted("the job goes on without ps 1"), leaves) << Status().DebugString();
    for (const int worker : {0, 1, 2}) simulation_->worker(worker).set_hangs(false);
    simulation_->MendLinks();
    Finish();
    EXPECT_EQ(Status().rollbacks() > 0, leaves) << Status().DebugString();
  }
}

// The journal has a member that was cut off and that the new cluster does not have.
TEST_F(JobLoaderTest, AMemberThatWasCutOffIsForgottenInASmallerCluster) {
  for (const int members : {3, 2}) {
    Simulation::Options options = SimulatedCluster(SimulatedJob("mirrored", 60), members);
    options.ps = members;
    options.progress_timeout = absl::Seconds(5);
    simulation_ = std::make_unique<Simulation>(options);
    ASSERT_TRUE(simulation_->RunUntil([&] { return Status().batches_done() > 10; }));
    const int last = members - 1;
    simulation_->BreakLink(0, last);
    ASSERT_TRUE(simulation_->RunUntil([&] {
      return Noted(absl::StrCat("the job goes on without ps ", last));
    })) << Status().DebugString();
    const uint64_t newest = Status().last_checkpoint();
    RunUntilCheckpoint(newest + 2);
    ASSERT_NE(Status().state(), proto::FINISHED);
    simulation_->MendLinks();
    simulation_->Resize(last);
    Finish();
    EXPECT_LT(Status().generation(), 10u);
  }
}

// A command to delete is lost with its stream, or with the coordinator that had journaled the
// decision.
class LostDeletionTest : public JobLoaderTest {
 protected:
  // Checkpoint 1 and its copy are on the disk of ps 1 as if it had missed their deletion.
  void LeaveTheFirstCheckpoint() {
    Start(2, LongJob());
    RunUntilCheckpoint(6);
    ASSERT_FALSE(simulation_->Checkpoints().contains(1));
    SimulatedPs::Disk& disk = simulation_->ps(1).disk();
    const SimulatedPs::Blocks blocks = disk.begin()->second;
    disk[{1, 0}] = disk[{1, 1}] = blocks;
  }

  void ExpectItIsDeletedAndNothingElse() {
    ASSERT_TRUE(simulation_->RunUntil([&] {
      for (const uint64_t checkpoint : simulation_->Checkpoints()) {
        EXPECT_TRUE(simulation_->CheckpointsOnDisk().contains(checkpoint)) << checkpoint;
      }
      return !simulation_->CheckpointsOnDisk().contains(1) || HasFailure();
    }));
    EXPECT_EQ(Status().state(), proto::RUNNING);
    EXPECT_EQ(Status().rollbacks(), 0);
    Finish();
  }
};

TEST_F(LostDeletionTest, IsMadeUpForWhenThePsReturns) {
  LeaveTheFirstCheckpoint();
  simulation_->BreakStream(1);
  ExpectItIsDeletedAndNothingElse();
}

TEST_F(LostDeletionTest, IsMadeUpForByTheNextCoordinator) {
  LeaveTheFirstCheckpoint();
  simulation_->KillCoordinator();
  ExpectItIsDeletedAndNothingElse();
}

TEST_F(LostDeletionTest, ASnapshotBeingWrittenIsNoLeftover) {
  Start(2, LongJob());
  RunUntilCheckpoint(6);
  simulation_->ps(1).set_disk_hangs(true);
  const auto& unwritten = simulation_->ps(1).unwritten();
  const SimulatedPs::Disk& disk = simulation_->ps(0).disk();
  ASSERT_TRUE(simulation_->RunUntil([&] {
    return !unwritten.empty() && disk.contains({unwritten.back().cut(), 0});
  }));
  const uint64_t cut = unwritten.back().cut();
  // Ps 0 is asked for its snapshots while its part of the cut is written and the other's is not.
  SimulatedPs::Disk& theirs = simulation_->ps(0).disk();
  theirs[{1, 0}] = theirs.begin()->second;
  simulation_->BreakStream(0);
  ASSERT_TRUE(simulation_->RunUntil([&] { return !disk.contains({1, 0}); }));
  EXPECT_TRUE(disk.contains({cut, 0}));
  simulation_->ps(1).set_disk_hangs(false);
  simulation_->BreakStream(1);
  ASSERT_TRUE(simulation_->RunUntil([&] { return Status().last_checkpoint() >= cut; }));
  EXPECT_TRUE(simulation_->Checkpoints().contains(cut));
  Finish();
  EXPECT_EQ(Status().rollbacks(), 0);
}

}  // namespace
}  // namespace cairn::coordinator
