#include "cli/drill/fault_watch.h"

#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

TEST(BatchRateTest, IsThatOfTheNewestWindow) {
  const std::vector<ProgressPoint> progress = {{0, 0}, {1, 100}, {1.5, 110}, {2.5, 160}};
  EXPECT_EQ(BatchRate(progress, 0, 1), 50);
  EXPECT_EQ(BatchRate(progress, 1.5, 1), 50);
  EXPECT_EQ(BatchRate(progress, 0, 2), 64) << "between 0 and 2.5";
}

TEST(BatchRateTest, IsUnknownUntilTheWindowHasPassed) {
  EXPECT_EQ(BatchRate({}, 0, 1), std::nullopt);
  EXPECT_EQ(BatchRate({{0, 5}}, 0, 1), std::nullopt);
  const std::vector<ProgressPoint> progress = {{0, 0}, {1, 100}, {1.5, 110}};
  EXPECT_EQ(BatchRate(progress, 1, 1), std::nullopt);
}

TEST(BatchRateTest, IsNegativeOverARollback) {
  EXPECT_EQ(BatchRate({{0, 100}, {2, 40}}, 0, 1), -30);
}

TEST(ThroughputTest, IsThatBeforeTheFirstFaultAndThatAfterIt) {
  const std::vector<ProgressPoint> progress = {{0, 0}, {4, 10}, {6, 30}, {8, 20}, {10, 50}};
  const auto throughput = MeasureThroughput(progress, 6);
  ASSERT_TRUE(throughput.has_value());
  EXPECT_EQ(throughput->without_faults, 10) << "from the first batch on";
  EXPECT_EQ(throughput->under_faults, 5) << "with what a rollback has cost";
  EXPECT_EQ(MeasureThroughput(progress, 4), std::nullopt) << "nothing was done before";
  EXPECT_EQ(MeasureThroughput(progress, 10), std::nullopt) << "nothing was done after";
  EXPECT_EQ(MeasureThroughput({}, 1), std::nullopt);
}

DrillState State(uint64_t term, bool live, uint64_t incarnation) {
  DrillState state;
  proto::ClusterStatus& cluster = state.cluster.emplace();
  cluster.set_term(term);
  for (const proto::Role role : {proto::PS, proto::WORKER}) {
    proto::Member* const member = cluster.add_members();
    member->set_role(role);
    member->set_index(1);
    member->set_live(live || role == proto::PS);
    member->set_incarnation(role == proto::PS ? 1 : incarnation);
  }
  return state;
}

TEST(IsNoticedTest, AWorkerIsAwayOrHasJoinedAgain) {
  const DrillState before = State(1, true, 1);
  for (const FaultKind kind : {FaultKind::kKillWorker, FaultKind::kCutOffWorker}) {
    const Fault fault{kind, 1};
    EXPECT_FALSE(IsNoticed(fault, before, before));
    EXPECT_FALSE(IsNoticed(fault, before, {})) << "the coordinator only did not answer";
    EXPECT_TRUE(IsNoticed(fault, before, State(1, false, 1)));
    EXPECT_TRUE(IsNoticed(fault, before, State(1, true, 2)));
    EXPECT_TRUE(IsNoticed(fault, before, {proto::ClusterStatus(), {}}));
  }
  EXPECT_FALSE(IsNoticed({FaultKind::kHangPs, 1}, before, State(1, false, 1)))
      << "another task is away";
}

TEST(IsNoticedTest, ACoordinatorIsSilentOrHasANewTerm) {
  const DrillState before = State(1, true, 1);
  for (const FaultKind kind :
       {FaultKind::kKillCoordinator, FaultKind::kKillAll, FaultKind::kFullDiskCoordinator}) {
    EXPECT_FALSE(IsNoticed({kind}, before, State(1, false, 2)));
    EXPECT_TRUE(IsNoticed({kind}, before, {}));
    EXPECT_TRUE(IsNoticed({kind}, before, State(2, true, 1)));
  }
}

TEST(IsNoticedTest, AWorkerIsStuck) {
  const Fault fault{FaultKind::kHangDataWorker, 1};
  const DrillState before = State(1, true, 1);
  DrillState now = before;
  EXPECT_FALSE(IsNoticed(fault, before, now));
  for (proto::Member& member : *now.cluster->mutable_members()) {
    if (member.role() == proto::WORKER) member.set_activity("reading batch 17");
  }
  EXPECT_FALSE(IsNoticed(fault, before, now));
  for (proto::Member& member : *now.cluster->mutable_members()) {
    if (member.role() == proto::WORKER) member.set_activity("stuck in reading batch 17, 8 s");
  }
  EXPECT_TRUE(IsNoticed(fault, before, now));
  EXPECT_FALSE(IsNoticed({FaultKind::kHangDataWorker, 0}, before, now)) << "another worker";
  EXPECT_FALSE(IsNoticed(fault, before, State(1, false, 1))) << "it is away, which is another sign";
  EXPECT_FALSE(IsNoticed({FaultKind::kErrorDataWorker, 1}, before, now)) << "nobody need notice it";
}

TEST(IsNoticedTest, ADiskHasFailedACheckpoint) {
  const DrillState before = State(1, true, 1);
  DrillState now = before;
  EXPECT_FALSE(IsNoticed({FaultKind::kErrorDiskPs, 1}, before, now));
  EXPECT_FALSE(IsNoticed({FaultKind::kErrorDiskPs, 1}, before, State(1, false, 2)));
  now.job.set_checkpoints_failed(1);
  EXPECT_TRUE(IsNoticed({FaultKind::kErrorDiskPs, 1}, before, now));
  EXPECT_FALSE(IsNoticed({FaultKind::kSlowDiskPs, 1}, before, now)) << "nobody need notice it";
}

}  // namespace
}  // namespace cairn::cli
