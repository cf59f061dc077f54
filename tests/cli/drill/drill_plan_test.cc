#include "cli/drill/drill_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const DrillPlan& Plan(const std::string& name) { return **FindDrillPlan(name); }

std::string Text(const DrillPlan& plan, uint64_t seed, int faults) {
  std::string text;
  for (int i = 0; i < faults; ++i) {
    const Fault fault = PlannedFault(plan, seed, i, 2, 3);
    text += FaultText(fault) + " " + std::to_string(fault.delay_seconds) + "; ";
  }
  return text;
}

TEST(DrillPlanTest, TheSeedAloneDeterminesTheFaults) {
  for (const DrillPlan& plan : DrillPlans()) {
    EXPECT_EQ(Text(plan, 1, 20), Text(plan, 1, 20)) << plan.name;
    EXPECT_NE(Text(plan, 1, 20), Text(plan, 2, 20)) << plan.name;
  }
}

TEST(DrillPlanTest, EachRoundHasEachKindOnce) {
  for (const DrillPlan& plan : DrillPlans()) {
    const int kinds = static_cast<int>(plan.kinds.size());
    std::set<std::vector<FaultKind>> orders;
    for (int round = 0; round < 20; ++round) {
      std::vector<FaultKind> order;
      for (int i = 0; i < kinds; ++i) {
        order.push_back(PlannedFault(plan, 1, round * kinds + i, 2, 3).kind);
      }
      orders.insert(order);
      EXPECT_THAT(order, ::testing::UnorderedElementsAreArray(plan.kinds)) << plan.name;
    }
    if (kinds > 1) {
      EXPECT_GT(orders.size(), 1) << plan.name << ": the order is always the same";
    }
  }
}

TEST(DrillPlanTest, TasksAndDelaysAreSpreadEvenly) {
  constexpr int kFaults = 3000;
  std::map<int, int> workers;
  double least = 1e9;
  double most = 0;
  for (int i = 0; i < kFaults; ++i) {
    const Fault fault = PlannedFault(Plan("workers"), 5, i, 2, 3);
    ++workers[fault.index];
    least = std::min(least, fault.delay_seconds);
    most = std::max(most, fault.delay_seconds);
  }
  ASSERT_EQ(workers.size(), 3);
  for (const auto& [index, count] : workers) EXPECT_NEAR(count, kFaults / 3, 150) << index;
  EXPECT_NEAR(least, 0.5, 0.01);
  EXPECT_NEAR(most, 2.5, 0.01);
}

TEST(DrillPlanTest, WithoutPsTheirFaultsHitTheWorkersThatHoldTheParameters) {
  std::set<int> hung;
  for (int i = 0; i < 100; ++i) {
    const Fault fault = PlannedFault(Plan("soak"), 3, i, 0, 3);
    const std::string task = TasksOf(fault, 0, 3).front();
    EXPECT_EQ(task.find("ps-"), std::string::npos) << task;
    EXPECT_EQ(FaultText(fault).find("ps 1"), std::string::npos) << FaultText(fault);
    if (fault.kind == FaultKind::kHangPs) hung.insert(fault.index);
    if (fault.kind == FaultKind::kCutWorkerFromPs) {
      EXPECT_NE(fault.index, 0) << "its parameters are its own";
    }
  }
  EXPECT_GT(hung.size(), 1);
  EXPECT_THAT(TasksOf(PlannedFault(Plan("everything"), 1, 0, 0, 2), 0, 2),
              ElementsAre("coordinator", "worker-0", "worker-1"));
}

TEST(DrillPlanTest, ANetworkNeedsTwoTasks) {
  EXPECT_TRUE(CheckPlanFits(Plan("partitions"), 0, 2).ok());
  EXPECT_TRUE(CheckPlanFits(Plan("partitions"), 1, 1).ok());
  EXPECT_TRUE(CheckPlanFits(Plan("workers"), 0, 1).ok());
  EXPECT_THAT(std::string(CheckPlanFits(Plan("soak"), 0, 1).message()),
              HasSubstr("use --workers 2"));
}

TEST(DrillPlanTest, FaultsNameTheTasksThatTheyHit) {
  EXPECT_THAT(TasksOf({FaultKind::kHangWorker, 2}, 2, 3), ElementsAre("worker-2"));
  EXPECT_THAT(TasksOf({FaultKind::kKillPs, 1}, 2, 3), ElementsAre("ps-1"));
  EXPECT_THAT(TasksOf({FaultKind::kKillCoordinator}, 2, 3), ElementsAre("coordinator"));
  EXPECT_THAT(TasksOf({FaultKind::kKillAll}, 1, 2),
              ElementsAre("coordinator", "ps-0", "worker-0", "worker-1"));
  EXPECT_THAT(TasksOf({FaultKind::kHangDiskCoordinator}, 1, 2), ElementsAre("coordinator"));
  EXPECT_EQ(FaultText({FaultKind::kHangPs, 1}), "stop ps 1 past its lease");
  EXPECT_EQ(FaultText({FaultKind::kFullDiskCoordinator}), "the disk of the coordinator is full");
}

TEST(DrillPlanTest, UnknownPlansAreRejectedWithThoseThatThereAre) {
  EXPECT_THAT(std::string(FindDrillPlan("worker").status().message()),
              AllOf(HasSubstr("did you mean workers?"), HasSubstr("coordinator, everything")));
}

// The names of the kinds say whom a fault hits.
TEST(DrillPlanTest, EachKindIsDescribedOnce) {
  std::map<FaultMeans, int> kinds;
  for (const FaultKind kind : Plan("soak").kinds) {
    const FaultTraits& traits = TraitsOf(kind);
    EXPECT_EQ(traits.kind, kind);
    ++kinds[traits.means];
    const bool has_network = traits.sent.kind != LinkFault::Kind::kNone ||
                             traits.received.kind != LinkFault::Kind::kNone;
    EXPECT_EQ(has_network, traits.means == FaultMeans::kNetwork) << traits.text;
    EXPECT_EQ(*traits.failpoint != '\0', traits.means == FaultMeans::kFailpoint) << traits.text;
    // A fault that nobody notices ends by its time.
    EXPECT_TRUE(traits.sign != FaultSign::kNone || traits.seconds > 0) << traits.text;
    EXPECT_TRUE(IsLasting(kind) || traits.seconds == 0) << traits.text;
  }
  EXPECT_EQ(kinds[FaultMeans::kNetwork], static_cast<int>(Plan("partitions").kinds.size()));
  EXPECT_EQ(kinds[FaultMeans::kFailpoint] + kinds[FaultMeans::kFileLimit],
            static_cast<int>(Plan("disk").kinds.size()));
  EXPECT_TRUE(UsesMeans(Plan("disk"), FaultMeans::kFileLimit));
  EXPECT_FALSE(UsesMeans(Plan("disk"), FaultMeans::kNetwork));
}

TEST(DrillPlanTest, GoalsAreThoseOfKills) {
  EXPECT_EQ(RecoveryGoal({FaultKind::kKillWorker}, 9), 5);
  EXPECT_EQ(RecoveryGoal({FaultKind::kKillPs}, 2), 8);
  EXPECT_EQ(RecoveryGoal({FaultKind::kKillAll}, 2), 15);
  EXPECT_EQ(RecoveryGoal({FaultKind::kHangPs}, 2), std::nullopt);
}

}  // namespace
}  // namespace cairn::cli
