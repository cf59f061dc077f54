// Callbacks in a simulated cluster with faults at any time. The simulated validation loss grows
// with every epoch, so nothing improves after the first one: the rate is halved after each epoch
// from the second on, and training stops when the patience of early_stopping is used up.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/coordinator/simulated_job.h"
#include "tests/coordinator/simulation.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kPerEpoch = 10;
constexpr int64_t kPatience = 8;
constexpr int64_t kTrained = (kPatience + 1) * kPerEpoch;

proto::Job JobWithCallbacks(const std::string& mode) {
  proto::Job job = SimulatedJob(mode, 60);
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(1);
  proto::Callback* reduce = job.add_callbacks();
  reduce->set_name("reduce_lr_on_plateau");
  reduce->set_factor(0.5);
  reduce->set_patience(1);
  proto::Callback* stop = job.add_callbacks();
  stop->set_name("early_stopping");
  stop->set_patience(kPatience);
  stop->set_restore_best_weights(true);
  return job;
}

double ExpectedRate(int64_t batch) {
  const int64_t epoch = batch / kPerEpoch;
  return epoch < 2 ? 1 : std::pow(0.5, static_cast<double>(epoch - 1));
}

// Every batch before the stop was applied once, with the rate of its epoch, and none after it.
void CheckStopped(Simulation* simulation, int ps_count) {
  const proto::JobStatus status = simulation->Status();
  ASSERT_EQ(status.state(), proto::FINISHED) << status.DebugString();
  EXPECT_TRUE(status.stopped_early());
  EXPECT_EQ(status.total_batches(), kTrained);
  EXPECT_EQ(status.batches_done(), kTrained);
  EXPECT_EQ(status.evaluations_size(), kPatience + 1);
  for (int ps = 0; ps < ps_count; ++ps) {
    for (const auto& [id, block] : simulation->ps(ps).blocks()) {
      ASSERT_EQ(block.applied.size(), kTrained);
      ASSERT_EQ(*block.applied.rbegin(), kTrained - 1);
      for (const auto& [batch, rate] : block.rates) {
        // Before the first decision a ps may know only the job's own rate.
        ASSERT_TRUE(rate == ExpectedRate(batch) || (rate == 0 && ExpectedRate(batch) == 1))
            << "batch " << batch << " with rate " << rate;
      }
    }
  }
  ASSERT_EQ(status.best_size(), 1);
  EXPECT_EQ(status.best(0).epoch(), 0);
  EXPECT_EQ(status.best(0).value(), kPerEpoch);
  EXPECT_TRUE(simulation->ps(0).disk().contains({status.best(0).checkpoint(), 0}));
}

class CallbacksSimulationTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CallbacksSimulationTest, AQuietClusterStopsWithTheBestCheckpointKept) {
  proto::Job job = JobWithCallbacks(GetParam());
  job.mutable_checkpoint()->set_keep(1);
  Simulation simulation(SimulatedCluster(job));
  ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
  CheckStopped(&simulation, 2);
  // The last checkpoint and the best one, each with a copy at the neighbor.
  EXPECT_EQ(simulation.ps(0).disk().size(), 4u);
  EXPECT_EQ(simulation.Status().learning_rate(), ExpectedRate(kTrained - 1));
}

TEST_P(CallbacksSimulationTest, ACoordinatorThatDiesAtAnyDecisionDecidesTheSame) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Simulation::Options options = SimulatedCluster(JobWithCallbacks(GetParam()), seed);
    options.coordinator_kills = 40;
    Simulation simulation(options);
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    CheckStopped(&simulation, 2);
    if (HasFatalFailure()) return;
    EXPECT_EQ(simulation.Status().rollbacks(), 0);
  }
}

TEST_P(CallbacksSimulationTest, EverythingMayDieAtAnyTimeAndTheDecisionsAreTheSame) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    proto::Job job = JobWithCallbacks(GetParam());
    job.mutable_checkpoint()->set_every_steps(7);
    job.mutable_checkpoint()->set_keep(1 + seed % 3);
    Simulation::Options options = SimulatedCluster(job, seed);
    options.worker_kills = 6;
    options.worker_stops = 3;
    options.broken_streams = 10;
    options.ps_kills = 6;
    options.coordinator_kills = 10;
    Simulation simulation(options);
    ASSERT_TRUE(simulation.Run()) << simulation.Status().DebugString();
    CheckStopped(&simulation, options.ps);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(AllModes, CallbacksSimulationTest,
                         ::testing::Values("async", "sync", "stale"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cairn::coordinator
