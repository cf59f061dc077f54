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

proto::ClusterStatus Cluster(uint64_t term, bool live, uint64_t incarnation) {
  proto::ClusterStatus cluster;
  cluster.set_term(term);
  for (const proto::Role role : {proto::PS, proto::WORKER}) {
    proto::Member* const member = cluster.add_members();
    member->set_role(role);
    member->set_index(1);
    member->set_live(live || role == proto::PS);
    member->set_incarnation(role == proto::PS ? 1 : incarnation);
  }
  return cluster;
}

TEST(IsNoticedTest, AWorkerIsAwayOrHasJoinedAgain) {
  const proto::ClusterStatus before = Cluster(1, true, 1);
  const Fault fault{FaultKind::kKillWorker, 1};
  EXPECT_FALSE(IsNoticed(fault, before, before));
  EXPECT_FALSE(IsNoticed(fault, before, std::nullopt)) << "the coordinator only did not answer";
  EXPECT_TRUE(IsNoticed(fault, before, Cluster(1, false, 1)));
  EXPECT_TRUE(IsNoticed(fault, before, Cluster(1, true, 2)));
  EXPECT_TRUE(IsNoticed(fault, before, proto::ClusterStatus()));
  EXPECT_FALSE(IsNoticed({FaultKind::kHangPs, 1}, before, Cluster(1, false, 1)))
      << "another task is away";
}

TEST(IsNoticedTest, ACoordinatorIsSilentOrHasANewTerm) {
  const proto::ClusterStatus before = Cluster(1, true, 1);
  for (const FaultKind kind : {FaultKind::kKillCoordinator, FaultKind::kKillAll}) {
    EXPECT_FALSE(IsNoticed({kind}, before, Cluster(1, false, 2)));
    EXPECT_TRUE(IsNoticed({kind}, before, std::nullopt));
    EXPECT_TRUE(IsNoticed({kind}, before, Cluster(2, true, 1)));
  }
}

}  // namespace
}  // namespace cairn::cli
