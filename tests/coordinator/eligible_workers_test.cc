#include "coordinator/eligible_workers.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kStart = absl::Seconds(100);

class EligibleWorkersTest : public ::testing::Test {
 protected:
  static MembershipOptions Options() {
    MembershipOptions options;
    options.named_workers = {0, 1};
    return options;
  }
  void Join(uint32_t index) {
    proto::Join join;
    join.set_role(proto::WORKER);
    join.set_index(index);
    join.set_instance_id(index + 1);
    ASSERT_FALSE(members_.Join(index + 1, join, kStart).refused.has_value());
  }

  Membership members_{Options()};
  EligibleWorkers fit_{&members_};
};

TEST_F(EligibleWorkersTest, AWorkerThatFailedIsLeftOutUntilItIsForgotten) {
  Join(0);
  Join(1);
  fit_.Failed(WorkerTask(0), "no such file");
  EXPECT_EQ(fit_.Live(false), (std::vector<TaskId>{WorkerTask(1)}));
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), std::nullopt);
  fit_.Forget(WorkerTask(0));
  EXPECT_EQ(fit_.Live(false).size(), 2u);
}

TEST_F(EligibleWorkersTest, WhenAllHaveFailedTheFirstOnesReasonIsTheAnswer) {
  Join(0);
  Join(1);
  fit_.Failed(WorkerTask(1), "out of memory");
  fit_.Failed(WorkerTask(0), "no such file");
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), "worker 0: no such file");
}

TEST_F(EligibleWorkersTest, AWorkerThatIsOnlyAwayIsWaitedForOneLease) {
  Join(0);
  fit_.Failed(WorkerTask(0), "no such file");
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), std::nullopt);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Seconds(9)), std::nullopt);
  EXPECT_NE(fit_.WhyNoneEligible(kStart + absl::Seconds(11)), std::nullopt);
}

TEST_F(EligibleWorkersTest, AnEvaluatorThatFailedIsNoReasonWhileTheWorkersAreAway) {
  fit_.Failed({proto::EVALUATOR, 0}, "no such file");
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), std::nullopt);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Hours(1)), std::nullopt);
  fit_.Failed(WorkerTask(0), "out of memory");
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Hours(1)), std::nullopt);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Hours(2)), "worker 0: out of memory");
}

TEST_F(EligibleWorkersTest, AnEmptyClusterIsNoFailure) {
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), std::nullopt);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Hours(1)), std::nullopt);
}

}  // namespace
}  // namespace cairn::coordinator
