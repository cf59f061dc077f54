#include "tests/coordinator/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/job_records.h"
#include "tests/coordinator/simulated_job.h"

namespace cairn::coordinator {
namespace {

int64_t RecordedBatches(Simulation* simulation) {
  int64_t count = 0;
  EXPECT_TRUE(storage::ReadBatches(simulation->journal(), 1, 0, [&](const proto::BatchRecord&) {
                ++count;
                return true;
              }).ok());
  return count;
}

class SimulationTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Replicated jobs take longer, and have a test of their own.
  static uint64_t Seeds(uint64_t all) { return GetParam() == "mirrored" ? (all + 3) / 4 : all; }
};

TEST_P(SimulationTest, AQuietClusterFinishesTheJobAndRecordsEveryBatch) {
  Simulation simulation(SimulatedCluster(SimulatedJob(GetParam(), 4), 1));
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
  EXPECT_EQ(RecordedBatches(&simulation), 40);
  EXPECT_EQ(simulation.Status().rollbacks(), 0);
  EXPECT_EQ(simulation.Status().last_checkpoint(), 4u);
  EXPECT_EQ(simulation.Status().batches_done(), 40);
}

TEST_P(SimulationTest, TheJobEndsWhenItsLastCheckpointHasItsCopiesAndMakesNoOtherMeanwhile) {
  proto::Job job = SimulatedJob(GetParam(), 4);
  job.clear_validation();
  Simulation simulation(SimulatedCluster(job, 1));
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().last_checkpoint(), 4u);
  EXPECT_TRUE(simulation.HasCompleteCopies());
}

TEST_P(SimulationTest, EpochsWithoutCheckpointAreEvaluatedAndTheLastOneHasOne) {
  proto::Job job = SimulatedJob(GetParam(), 7);
  job.mutable_checkpoint()->set_every_epochs(3);
  job.mutable_checkpoint()->set_keep(10);
  Simulation simulation(SimulatedCluster(job, 1));
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().evaluations_size(), 7);
  EXPECT_EQ(simulation.Checkpoints(), (std::set<uint64_t>{3, 6, 7}));
}

TEST_P(SimulationTest, DyingAndStoppedWorkersCostNoBatchAndNoRollback) {
  for (uint64_t seed = 1; seed <= Seeds(15); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Simulation::Options options = SimulatedCluster(SimulatedJob(GetParam(), 60), seed);
    options.worker_kills = 12;
    options.worker_stops = 6;
    options.broken_streams = 4;
    Simulation simulation(options);
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    simulation.CheckFinished();
    if (HasFatalFailure()) return;
    // CheckFinished has counted the batches. The history may lack a record for each worker that
    // died after its last push and before its report (coordinator/training/history.h).
    EXPECT_LE(RecordedBatches(&simulation), 600);
    EXPECT_GE(RecordedBatches(&simulation), 600 - simulation.Status().workers_lost());
    EXPECT_EQ(simulation.Status().rollbacks(), 0);
  }
}

// Parts of live processes stand still: heartbeats come, but no batch and no snapshot is finished.
// The job must not wait for them, and must count every batch once when they go on.
TEST_P(SimulationTest, HangingWorkersAndDisksCostNoBatchAndNoRollback) {
  for (uint64_t seed = 1; seed <= Seeds(15); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Simulation::Options options = SimulatedCluster(SimulatedJob(GetParam(), 60), seed);
    options.worker_hangs = 6;
    options.disk_hangs = 4;
    options.broken_streams = 2;
    options.progress_timeout = absl::Seconds(5);
    Simulation simulation(options);
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    simulation.CheckFinished();
    if (HasFatalFailure()) return;
    EXPECT_EQ(simulation.Status().rollbacks(), 0);
  }
}

TEST_P(SimulationTest, AHungWorkerDoesNotStopTheJob) {
  Simulation::Options options = SimulatedCluster(SimulatedJob(GetParam(), 20));
  options.worker_hangs = 1;  // The hang below must reach the heartbeats.
  options.fault_time = -absl::Hours(1);
  options.progress_timeout = absl::Seconds(5);
  Simulation simulation(options);
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 20; }));
  simulation.worker(1).set_hangs(true);
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
}

struct WideUpdate {
  int64_t batches_per_update = 1;  // 0: the number of workers at submission.
  int workers = 1;
  int deaths = 0;  // Permanent, one after the other while an update is open.
};

class WideUpdateTest : public ::testing::TestWithParam<WideUpdate> {};

// Any number of batches per update, with any number of its workers left.
TEST_P(WideUpdateTest, Finishes) {
  const WideUpdate& param = GetParam();
  proto::Job job = SimulatedJob("sync", 1);
  job.clear_validation();
  job.mutable_strategy()->mutable_parameter_server()->set_batches_per_update(
      param.batches_per_update);
  Simulation::Options options = SimulatedCluster(job);
  options.workers = param.workers;
  // Two and a half updates, or a little more than one if they are very wide.
  const int64_t width = std::max<int64_t>(1, param.batches_per_update);
  options.examples = 10 * (width < 1000 ? std::max<int64_t>(30, width * 5 / 2) : width + 3);
  const bool by_workers = param.batches_per_update == 0;
  if (by_workers) options.examples = 10 * 60 * param.workers;  // Enough for all deaths.
  Simulation simulation(options);
  for (int dead = 0; dead < param.deaths; ++dead) {
    const int64_t done = simulation.Status().batches_done();
    const int64_t steps = by_workers ? 1 : 3 + 7 * dead;
    int ticks = 0;
    ASSERT_TRUE(simulation.RunUntil([&] {
      return simulation.Status().state() == proto::RUNNING &&
             simulation.Status().batches_done() >= done && ++ticks > steps;
    }));
    simulation.KillWorkerForGood(dead);
  }
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
}

std::vector<WideUpdate> WideUpdates() {
  std::vector<WideUpdate> all;
  for (const int64_t width : {1, 2, 7, 8, 9, 16, 50, 100}) {
    for (const int workers : {1, 2, 3, 10}) {
      for (int deaths = 0; deaths < std::min(workers, 3); ++deaths) {
        all.push_back({width, workers, deaths});
      }
    }
  }
  all.insert(all.end(), {{1000, 1, 0}, {1000, 3, 2}, {1000, 10, 1}, {4096, 1, 0}, {4096, 3, 2}});
  for (const int workers : {3, 10, 40}) all.push_back({0, workers, workers - 1});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Sweep, WideUpdateTest, ::testing::ValuesIn(WideUpdates()),
                         [](const auto& info) {
                           return absl::StrCat("G", info.param.batches_per_update, "_workers",
                                               info.param.workers, "_deaths", info.param.deaths);
                         });

// Some die when an update is applied and none of its batches is reported: the survivor finds
// batches that are done.
TEST(WideUpdates, AllButOneMayDieTogetherAtAnyTime) {
  for (const int64_t width : {4, 16, 50}) {
    proto::Job job = SimulatedJob("sync", 1);
    job.clear_validation();
    job.mutable_strategy()->mutable_parameter_server()->set_batches_per_update(width);
    for (int tick = 1;; ++tick) {
      SCOPED_TRACE(absl::StrCat("width ", width, " tick ", tick));
      Simulation::Options options = SimulatedCluster(job);
      options.workers = 3;
      options.examples = 10 * width * 7 / 2;
      Simulation simulation(options);
      int ticks = 0;
      ASSERT_TRUE(simulation.RunUntil([&] {
        const proto::JobStatus status = simulation.Status();
        return status.state() == proto::FINISHED ||
               (status.state() == proto::RUNNING && ++ticks >= tick);
      }));
      if (simulation.Status().state() == proto::FINISHED) break;
      for (const int worker : {0, 2}) simulation.KillWorkerForGood(worker);
      ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
      simulation.CheckFinished();
      if (HasFailure()) return;
    }
  }
}

TEST_P(SimulationTest, EverythingMayDieAtAnyTimeAndTheCountIsExact) {
  for (uint64_t seed = 1; seed <= Seeds(25); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = SimulatedJob(GetParam(), 60);
    job.mutable_checkpoint()->set_every_steps(7);
    job.mutable_checkpoint()->set_keep(1 + seed % 3);
    Simulation::Options options = SimulatedCluster(job, seed);
    options.ps = 1 + seed % 3;
    options.worker_kills = 6;
    options.worker_stops = 3;
    options.broken_streams = 4;
    options.ps_kills = 3;
    options.coordinator_kills = 6;
    options.disk_failures = 0.05;
    Simulation simulation(options);
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    simulation.CheckFinished();
    if (HasFatalFailure()) return;
  }
}

TEST_P(SimulationTest, APsMayLoseItsDiskAndNoCheckpointIsLost) {
  for (uint64_t seed = 1; seed <= Seeds(4); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = SimulatedJob(GetParam(), 60);
    job.mutable_checkpoint()->set_every_steps(7);
    job.set_on_lost_checkpoint("fail");
    Simulation simulation(SimulatedCluster(job, seed));
    for (int lost = 0; lost < 4; ++lost) {
      const uint64_t before = simulation.Status().last_checkpoint();
      ASSERT_TRUE(simulation.RunUntil([&] {
        return simulation.Status().last_checkpoint() >= before + 2 &&
               simulation.HasCompleteCopies();
      })) << simulation.Status().DebugString();
      simulation.LoseDisk(lost % 2);
    }
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    simulation.CheckFinished();
    if (HasFatalFailure()) return;
    // A replicated job needs no disk.
    if (GetParam() == "mirrored") {
      EXPECT_EQ(simulation.Status().rollbacks(), 0);
    } else {
      EXPECT_GE(simulation.Status().rollbacks(), 4);
    }
  }
}

TEST_P(SimulationTest, DisksMayBeLostAtAnyTimeAndTheCountIsExact) {
  for (uint64_t seed = 1; seed <= Seeds(10); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = SimulatedJob(GetParam(), 60);
    job.mutable_checkpoint()->set_every_steps(7);
    job.mutable_checkpoint()->set_keep(1 + seed % 3);
    job.mutable_checkpoint()->set_copies(1 + seed % 2);
    Simulation::Options options = SimulatedCluster(job, seed);
    options.ps = 1 + seed % 4;
    options.worker_kills = 3;
    options.broken_streams = 4;
    options.ps_kills = 2;
    options.disk_losses = 2;
    options.coordinator_kills = 4;
    options.disk_failures = 0.05;
    Simulation simulation(options);
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    simulation.CheckFinished();
    if (HasFatalFailure()) return;
  }
}

TEST_P(SimulationTest, TheClusterMayGrowAndShrinkAndTheCountIsExact) {
  for (uint64_t seed = 1; seed <= Seeds(4); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = SimulatedJob(GetParam(), 80);
    job.mutable_checkpoint()->set_every_steps(7);
    Simulation::Options options = SimulatedCluster(job, seed);
    options.worker_kills = 3;
    options.broken_streams = 4;
    options.coordinator_kills = 4;
    Simulation simulation(options);
    // A removed ps has a neighbor that stays: each snapshot is on one of them.
    for (const int ps : {3, 2, 4, 3, 2, 1, 2}) {
      const int64_t done = simulation.Status().batches_done();
      ASSERT_TRUE(simulation.RunUntil([&] {
        return simulation.Status().batches_done() >= done + 40 && simulation.HasCompleteCopies();
      })) << simulation.Status().DebugString();
      simulation.Resize(ps);
    }
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    simulation.CheckFinished();
    if (HasFatalFailure()) return;
    EXPECT_GE(simulation.Status().rollbacks(), 7);
  }
}

TEST_P(SimulationTest, ACoordinatorThatDiesOverAndOverCausesNoRollback) {
  for (uint64_t seed = 1; seed <= Seeds(10); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = SimulatedJob(GetParam(), 60);
    job.mutable_checkpoint()->set_every_steps(7);
    Simulation::Options options = SimulatedCluster(job, seed);
    options.coordinator_kills = 10;
    Simulation simulation(options);
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    simulation.CheckFinished();
    if (HasFatalFailure()) return;
    EXPECT_EQ(simulation.Status().rollbacks(), 0);
  }
}

TEST_P(SimulationTest, NoDeletionIsLostForLongAndNoCheckpointIsDeleted) {
  for (uint64_t seed = 1; seed <= Seeds(6); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = SimulatedJob(GetParam(), 100);
    job.mutable_checkpoint()->set_every_steps(3);
    job.mutable_checkpoint()->set_keep(1);
    Simulation::Options options = SimulatedCluster(job, seed);
    options.broken_streams = 20;
    options.coordinator_kills = 10;
    options.fault_time = absl::Seconds(30);
    Simulation simulation(options);
    const auto has_all = [&] {
      const std::set<uint64_t> on_disk = simulation.CheckpointsOnDisk();
      const std::set<uint64_t> checkpoints = simulation.Checkpoints();
      return std::includes(on_disk.begin(), on_disk.end(), checkpoints.begin(), checkpoints.end());
    };
    ASSERT_TRUE(simulation.RunUntil([&] {
      EXPECT_TRUE(has_all());
      return simulation.Status().state() == proto::FINISHED || HasFailure();
    })) << simulation.Status().DebugString();
    simulation.CheckFinished();
    // The last copies are in progress.
    ASSERT_TRUE(simulation.RunUntil([&] {
      return simulation.CheckpointsOnDisk() == simulation.Checkpoints();
    })) << "something stays on disk for ever";
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(AllModes, SimulationTest,
                         ::testing::Values("async", "sync", "stale", "mirrored"),
                         [](const auto& info) { return info.param; });

// The others die at any time, also while they load, and so does the coordinator.
TEST(ReplicatedJobs, WhileOneMemberIsLeftNothingIsComputedAgain) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = SimulatedJob("mirrored", 60);
    job.mutable_checkpoint()->set_every_steps(7);
    Simulation::Options options = SimulatedCluster(job, seed);
    options.ps = 3;
    options.worker_kills = 3;
    options.broken_streams = 6;
    options.coordinator_kills = seed % 2 == 0 ? 6 : 0;
    Simulation simulation(options);
    std::mt19937_64 random(seed);
    const auto finished = [&] { return simulation.Status().state() == proto::FINISHED; };
    const auto run_for = [&](uint64_t ticks) {
      return simulation.RunUntil([&] { return ticks-- == 0 || finished(); });
    };
    while (!finished()) {
      ASSERT_TRUE(simulation.RunUntil([&] {
        return finished() || (simulation.ps(0).HasAllBlocks() && simulation.ps(1).HasAllBlocks() &&
                              simulation.ps(2).HasAllBlocks());
      })) << simulation.Status().DebugString();
      const int survivor = static_cast<int>(random() % 3);
      for (uint64_t kills = random() % 5; kills > 0; --kills) {
        ASSERT_TRUE(run_for(random() % 40));
        if (!finished()) simulation.KillPs((survivor + 1 + static_cast<int>(random() % 2)) % 3);
      }
      ASSERT_TRUE(run_for(random() % 100));
    }
    simulation.CheckFinished();
    if (HasFailure()) return;
    EXPECT_EQ(simulation.Status().rollbacks(), 0);
    // As in DyingAndStoppedWorkersCostNoBatchAndNoRollback.
    EXPECT_GE(RecordedBatches(&simulation), 600 - simulation.Status().workers_lost());
  }
}

// Members stay away for longer than they are awaited, possibly all but one, and come back.
TEST(ReplicatedJobs, GoOnWithoutMembersThatStayAwayAndTakeThemBack) {
  int rounds = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = SimulatedJob("mirrored", 60);
    job.mutable_checkpoint()->set_every_steps(40);
    Simulation::Options options = SimulatedCluster(job, seed);
    options.ps = 3;
    options.broken_streams = 6;
    options.coordinator_kills = seed % 2 == 0 ? 4 : 0;
    Simulation simulation(options);
    std::mt19937_64 random(seed);
    const auto finished = [&] { return simulation.Status().state() == proto::FINISHED; };
    const auto done = [&] { return simulation.Status().batches_done(); };
    while (!finished()) {
      ASSERT_TRUE(simulation.RunUntil([&] {
        return finished() || (simulation.ps(0).HasAllBlocks() && simulation.ps(1).HasAllBlocks() &&
                              simulation.ps(2).HasAllBlocks());
      })) << simulation.Status().DebugString();
      const int64_t trained = done() + static_cast<int64_t>(random() % 15);
      ASSERT_TRUE(simulation.RunUntil([&] { return finished() || done() >= trained; }));
      if (finished()) break;
      const int survivor = static_cast<int>(random() % 3);
      const bool both = random() % 2 == 0;
      for (const int ps : {(survivor + 1) % 3, (survivor + 2) % 3}) {
        if (!both && ps == (survivor + 2) % 3) continue;
        simulation.KillPs(ps);
        simulation.KeepAway(ps, absl::Seconds(60));
      }
      // Of two updates the blocks of the survivor may still be applied.
      const int64_t before = done();
      const absl::Duration killed = simulation.now();
      int64_t shown = before;
      ASSERT_TRUE(simulation.RunUntil([&] {
        // A new coordinator learns from the ps what is applied.
        if (options.coordinator_kills == 0) {
          EXPECT_GE(done(), shown) << "what is shown goes back without a rollback";
        }
        shown = done();
        return finished() || done() >= before + 20;
      })) << simulation.Status().DebugString();
      if (finished()) break;
      // A new coordinator begins to wait anew.
      if (options.coordinator_kills == 0) {
        EXPECT_TRUE(simulation.ps((survivor + 1) % 3).blocks().empty());
        // The lease, and the time that it takes to load and to train 20 batches.
        EXPECT_LT(simulation.now() - killed, absl::Seconds(15));
      }
      ++rounds;
    }
    simulation.CheckFinished();
    if (HasFailure()) return;
    EXPECT_EQ(simulation.Status().rollbacks(), 0);
    EXPECT_GE(RecordedBatches(&simulation), 600 - simulation.Status().workers_lost());
  }
  EXPECT_GE(rounds, 6);
}

TEST(ReplicatedJobs, GoOnWithoutMembersThatOthersDoNotReachAndTakeThemBack) {
  int rounds = 0;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = SimulatedJob("mirrored", 60);
    job.mutable_checkpoint()->set_every_steps(7);
    Simulation::Options options = SimulatedCluster(job, seed);
    options.ps = 3;
    options.progress_timeout = absl::Seconds(8);
    options.broken_streams = 3;
    options.coordinator_kills = seed % 2 == 0 ? 4 : 0;
    Simulation simulation(options);
    std::mt19937_64 random(seed);
    const auto finished = [&] { return simulation.Status().state() == proto::FINISHED; };
    const auto all_have_blocks = [&] {
      return simulation.ps(0).HasAllBlocks() && simulation.ps(1).HasAllBlocks() &&
             simulation.ps(2).HasAllBlocks();
    };
    while (!finished()) {
      ASSERT_TRUE(simulation.RunUntil([&] { return finished() || all_have_blocks(); }))
          << simulation.Status().DebugString();
      if (finished()) break;
      for (uint64_t links = 1 + random() % 3; links > 0; --links) {
        const int from = static_cast<int>(random() % 3);
        simulation.BreakLink(from, (from + 1 + static_cast<int>(random() % 2)) % 3);
      }
      // The others go on.
      const int64_t end = simulation.Status().batches_done() + 20;
      ASSERT_TRUE(simulation.RunUntil([&] {
        return finished() || simulation.Status().batches_done() >= end;
      })) << simulation.Status().DebugString();
      if (!finished()) ++rounds;
      simulation.MendLinks();
    }
    simulation.CheckFinished();
    if (HasFailure()) return;
    EXPECT_EQ(simulation.Status().rollbacks(), 0);
  }
  EXPECT_GE(rounds, 5);
}

// All were lost, and one of them does not come back: the copies of its snapshots serve.
TEST(ReplicatedJobs, GoBackToACheckpointWithoutTheMemberThatStaysAway) {
  proto::Job job = SimulatedJob("mirrored", 60);
  Simulation::Options options = SimulatedCluster(job, 1);
  options.ps = 3;
  Simulation simulation(options);
  ASSERT_TRUE(simulation.RunUntil([&] {
    return simulation.Status().last_checkpoint() >= 3 && simulation.HasCompleteCopies();
  }));
  for (const int ps : {0, 1, 2}) simulation.KillPs(ps);
  simulation.KeepAway(2, absl::Hours(1));
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 1);
  EXPECT_TRUE(simulation.ps(2).blocks().empty());
}

}  // namespace
}  // namespace cairn::coordinator
