#include "coordinator/last_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/coordinator/simulated_job.h"
#include "tests/coordinator/simulation.h"

namespace cairn::coordinator {
namespace {

// Asks for it, and keeps the answer and what was announced.
class LastCheckpointTest : public ::testing::Test {
 protected:
  void Take(Simulation* simulation) {
    simulation->Do([this](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      TakeLastCheckpoint(
          absl::Seconds(20), [this](absl::StatusOr<std::string> line) { line_ = std::move(line); },
          scheduler, now, outbox);
      for (const Outbox::Sending& sending : outbox->commands) {
        announced_ += sending.command.has_ending() ? 1 : 0;
      }
    });
  }

  std::optional<absl::StatusOr<std::string>> line_;
  int announced_ = 0;
};

TEST_F(LastCheckpointTest, HasAllAppliedBatchesAndNotifiesEveryTask) {
  for (const char* mode : {"async", "sync"}) {
    Simulation simulation(SimulatedCluster(SimulatedJob(mode, 8)));
    ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 13; }));
    line_.reset();
    announced_ = 0;
    Take(&simulation);
    EXPECT_EQ(announced_, 5) << "2 ps and 3 workers";
    ASSERT_TRUE(simulation.RunUntil([&] { return line_.has_value(); }));
    ASSERT_TRUE(line_->ok()) << line_->status();
    const auto list = simulation.scheduler().ListCheckpoints("1");
    ASSERT_TRUE(list.ok()) << list.status();
    const auto stop =
        std::find_if(list->manifests().begin(), list->manifests().end(),
                     [](const auto& manifest) { return manifest.reason() == "stop"; });
    ASSERT_NE(stop, list->manifests().end());
    EXPECT_EQ(stop->applied_batches(), simulation.Status().batches_done());
    EXPECT_EQ(**line_, absl::StrCat("checkpoint ", stop->checkpoint(), " of job 1 holds ",
                                    stop->applied_batches(), " batches"));
    simulation.KillEverything();
    ASSERT_TRUE(simulation.Run());
    simulation.CheckFinished();
    EXPECT_EQ(simulation.Status().rollbacks(), 0) << "what was stopped goes on";
  }
}

TEST_F(LastCheckpointTest, WithoutAPsOrAnyWorkerItIsRefusedAtOnce) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 13; }));
  const auto leave = [&](TaskId task) {
    simulation.Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      scheduler->OnSessionEnd(scheduler->SessionOf(task), now, outbox);
    });
  };
  for (uint32_t worker = 0; worker < 3; ++worker) leave(WorkerTask(worker));
  Take(&simulation);
  ASSERT_TRUE(line_.has_value());
  EXPECT_EQ(line_->status(), absl::FailedPreconditionError("every worker is away"));
  leave(PsTask(1));
  Take(&simulation);
  EXPECT_EQ(line_->status(), absl::FailedPreconditionError("ps 1 is away"));
  EXPECT_EQ(announced_, 0);
}

TEST_F(LastCheckpointTest, WhereNoJobTrainsThereIsNothingToTake) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 1)));
  ASSERT_TRUE(simulation.Run());
  Take(&simulation);
  ASSERT_TRUE(line_.has_value());
  EXPECT_EQ(**line_, "");
}

TEST_F(LastCheckpointTest, ACoordinatorThatEndedAloneGoesOnAndCountsTheNextRollback) {
  Simulation simulation(SimulatedCluster(SimulatedJob("async", 8)));
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > 13; }));
  Take(&simulation);
  ASSERT_TRUE(simulation.RunUntil([&] { return line_.has_value(); }));
  const int64_t applied = simulation.Status().batches_done();
  simulation.KillCoordinator();
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Status().batches_done() > applied; }));
  EXPECT_EQ(simulation.Status().generation(), 1u) << "nothing was lost";
  simulation.KillPs(1);
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().rollbacks(), 1);
}

}  // namespace
}  // namespace cairn::coordinator
