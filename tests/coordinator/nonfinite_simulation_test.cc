// Losses and gradients that are not finite, in the simulated cluster: what each policy
// (Job.on_non_finite) leaves behind, whatever dies meanwhile.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/job_records.h"
#include "tests/coordinator/simulated_job.h"
#include "tests/coordinator/simulation.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kPerEpoch = 10;
constexpr int64_t kEpochs = 6;
constexpr int64_t kBad = 23;
constexpr double kRate = 0.1;

proto::Job JobWith(const std::string& mode, const std::string& policy) {
  proto::Job job = SimulatedJob(mode, kEpochs);
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(kRate);
  job.mutable_checkpoint()->set_every_steps(7);
  if (!policy.empty()) job.set_on_non_finite(policy);
  return job;
}

Simulation::Options ClusterOf(const proto::Job& job, uint64_t seed, bool faults) {
  Simulation::Options options = SimulatedCluster(job, seed);
  options.journal_directory +=
      absl::StrCat(job.strategy().parameter_server().mode(), job.on_non_finite());
  std::filesystem::remove_all(options.journal_directory);
  if (!faults) return options;
  options.worker_kills = 6;
  options.broken_streams = 10;
  options.ps_kills = 6;
  options.coordinator_kills = 20;
  return options;
}

void SetNotFinite(Simulation* simulation, const std::function<bool(int64_t)>& not_finite,
                  bool data_not_finite = false) {
  for (int i = 0; i < 3; ++i) simulation->worker(i).set_not_finite(not_finite, data_not_finite);
}

bool EverySeventh(int64_t batch) { return batch % 7 == 3; }

std::set<int64_t> AllOf(const std::function<bool(int64_t)>& not_finite) {
  std::set<int64_t> batches;
  for (int64_t batch = 0; batch < kEpochs * kPerEpoch; ++batch) {
    if (not_finite(batch)) batches.insert(batch);
  }
  return batches;
}

class NonfiniteSimulationTest : public ::testing::TestWithParam<std::string> {};

TEST_P(NonfiniteSimulationTest, RejectedBatchesAreCountedAndChangeNothing) {
  Simulation simulation(ClusterOf(JobWith(GetParam(), ""), 1, /*faults=*/false));
  SetNotFinite(&simulation, &EverySeventh);
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  const std::set<int64_t> bad = AllOf(&EverySeventh);
  EXPECT_EQ(simulation.Status().batches_rejected(), static_cast<int64_t>(bad.size()));
  EXPECT_EQ(simulation.Status().nonfinite_rollbacks(), 0);
  for (int ps = 0; ps < 2; ++ps) {
    for (const auto& [id, block] : simulation.ps(ps).blocks()) EXPECT_EQ(block.rejected, bad);
  }
  // Also from the journal alone, as `cairn status` reads it when no cluster is up.
  const auto records = storage::ReadJob(simulation.journal(), 1);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(storage::StatusFromRecords(*records).batches_rejected(),
            static_cast<int64_t>(bad.size()));
}

TEST_P(NonfiniteSimulationTest, ExactlyTheBadBatchesAreRejectedWhateverDies) {
  const std::set<int64_t> bad = AllOf(&EverySeventh);
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    Simulation simulation(ClusterOf(JobWith(GetParam(), "reject"), seed, /*faults=*/true));
    SetNotFinite(&simulation, &EverySeventh);
    ASSERT_TRUE(simulation.Run());
    simulation.CheckFinished();
    for (int ps = 0; ps < 2; ++ps) {
      for (const auto& [id, block] : simulation.ps(ps).blocks()) ASSERT_EQ(block.rejected, bad);
    }
    // Counts are of the reports, and a report is lost with its worker.
    int64_t reported = 0;
    ASSERT_TRUE(storage::ReadBatches(simulation.journal(), 1, 0, [&](const auto& record) {
                  EXPECT_EQ(record.rejected(), bad.contains(record.batch()));
                  reported += record.rejected() ? 1 : 0;
                  return true;
                }).ok());
    EXPECT_EQ(simulation.Status().batches_rejected(), reported);
  }
}

TEST_P(NonfiniteSimulationTest, AJobThatFailsNamesTheBatchAndIsResumedFromItsCheckpoint) {
  Simulation simulation(ClusterOf(JobWith(GetParam(), "fail"), 1, /*faults=*/false));
  SetNotFinite(&simulation, [](int64_t batch) { return batch == kBad; });
  ASSERT_TRUE(simulation.Run());
  proto::JobStatus status = simulation.Status();
  ASSERT_EQ(status.state(), proto::FAILED);
  EXPECT_TRUE(absl::StrContains(status.error(), "the loss of batch 4 in epoch 3 is nan (worker "))
      << status.error();
  EXPECT_TRUE(absl::StrContains(status.error(), "cairn resume 1 goes on from checkpoint "))
      << status.error();
  for (const auto& [id, block] : simulation.ps(0).blocks()) {
    EXPECT_FALSE(block.applied.contains(kBad));
  }
  SetNotFinite(&simulation, [](int64_t) { return false; });
  simulation.Do([](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    EXPECT_TRUE(scheduler->ResumeJob("1", now, outbox).ok());
  });
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  EXPECT_EQ(simulation.Status().batches_rejected(), 0);
}

// The batch is finite once the rate is at most a quarter: after exactly two rollbacks, in spite of
// all others.
TEST_P(NonfiniteSimulationTest, EachRollbackHalvesTheRateOnceWhateverDies) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    Simulation simulation(ClusterOf(JobWith(GetParam(), "rollback"), seed, /*faults=*/seed > 1));
    SetNotFinite(&simulation, [&simulation](int64_t batch) {
      const double rate = simulation.Status().learning_rate();
      return batch == kBad && (rate == 0 || rate > kRate / 4 * 1.01);
    });
    ASSERT_TRUE(simulation.Run());
    simulation.CheckFinished();
    const proto::JobStatus status = simulation.Status();
    ASSERT_EQ(status.nonfinite_rollbacks(), 2);
    EXPECT_FLOAT_EQ(status.learning_rate(), kRate / 4);
    if (seed == 1) {
      EXPECT_EQ(status.rollbacks(), 0) << "no part was lost";
    }
    int notes = 0;
    for (const proto::Note& note : status.notes()) {
      notes += absl::StrContains(note.text(), "with half the learning rate") ? 1 : 0;
    }
    EXPECT_LE(notes, 2);
    for (int ps = 0; ps < 2; ++ps) {
      for (const auto& [id, block] : simulation.ps(ps).blocks()) {
        EXPECT_FLOAT_EQ(block.rates.at(kBad), kRate / 4);
        EXPECT_FLOAT_EQ(block.rates.at(kEpochs * kPerEpoch - 1), kRate / 4);
      }
    }
  }
}

TEST_P(NonfiniteSimulationTest, RollbacksInVainEnd) {
  Simulation simulation(ClusterOf(JobWith(GetParam(), "rollback"), 1, /*faults=*/false));
  SetNotFinite(&simulation, [](int64_t batch) { return batch == kBad; });
  ASSERT_TRUE(simulation.Run());
  const proto::JobStatus status = simulation.Status();
  ASSERT_EQ(status.state(), proto::FAILED);
  EXPECT_EQ(status.nonfinite_rollbacks(), 10);
  EXPECT_TRUE(absl::StrContains(status.error(),
                                "10 rollbacks, each with half the learning rate, brought the job "
                                "no farther"))
      << status.error();
}

// Values that were spoiled before the checkpoint was taken: only an older one helps.
TEST_P(NonfiniteSimulationTest, ACheckpointWithWhichNoLossIsFiniteIsPassedOver) {
  proto::Job job = JobWith(GetParam(), "rollback");
  job.mutable_checkpoint()->set_keep(3);
  Simulation simulation(ClusterOf(job, 1, /*faults=*/false));
  std::set<uint64_t> spoiled;
  ASSERT_TRUE(simulation.RunUntil([&] { return simulation.Checkpoints().size() == 2; }));
  spoiled = {*simulation.Checkpoints().rbegin()};
  SetNotFinite(&simulation, [&](int64_t) {
    const auto records = storage::ReadJob(simulation.journal(), 1);
    return records->run.generation() == 1 || spoiled.contains(records->run.base_checkpoint());
  });
  ASSERT_TRUE(simulation.Run());
  simulation.CheckFinished();
  // Two in vain, and the one that passes over the checkpoint. More if a batch farther on is first.
  EXPECT_GE(simulation.Status().nonfinite_rollbacks(), 3);
  EXPECT_LE(simulation.Status().nonfinite_rollbacks(), 6);
}

TEST_P(NonfiniteSimulationTest, NoRollbackForDataThatAreNotFinite) {
  Simulation simulation(ClusterOf(JobWith(GetParam(), "rollback"), 1, /*faults=*/false));
  SetNotFinite(
      &simulation, [](int64_t batch) { return batch == kBad; }, /*data_not_finite=*/true);
  ASSERT_TRUE(simulation.Run());
  const proto::JobStatus status = simulation.Status();
  ASSERT_EQ(status.state(), proto::FAILED);
  EXPECT_EQ(status.nonfinite_rollbacks(), 0);
  EXPECT_TRUE(absl::StrContains(status.error(), "its data are not finite")) << status.error();
}

INSTANTIATE_TEST_SUITE_P(Modes, NonfiniteSimulationTest,
                         ::testing::Values("async", "stale", "sync"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cairn::coordinator
