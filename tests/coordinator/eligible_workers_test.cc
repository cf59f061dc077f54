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
  fit_.Failed(WorkerTask(0), "no such file", false, kStart);
  EXPECT_EQ(fit_.Live(false), (std::vector<TaskId>{WorkerTask(1)}));
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), std::nullopt);
  fit_.Forget(WorkerTask(0));
  EXPECT_EQ(fit_.Live(false).size(), 2u);
}

TEST_F(EligibleWorkersTest, AJobThatNamesDevicesUsesTheirWorkersOnly) {
  proto::Join join;
  join.set_role(proto::WORKER);
  for (const char* const own : {"cpu:0", "cpu:1", "cuda:0"}) {
    join.set_index(-1);
    join.set_instance_id(join.instance_id() + 1);
    join.clear_devices();
    join.add_devices(own);
    join.add_devices("cpu:9");  // Of another worker of the process.
    ASSERT_FALSE(members_.Join(join.instance_id(), join, kStart).refused.has_value());
  }
  const auto used = [&](const std::vector<std::string>& devices) {
    std::vector<std::string> own;
    for (const TaskId worker : EligibleWorkers(&members_, devices).Live(false)) {
      own.push_back(members_.Find(worker)->devices.front());
    }
    return own;
  };
  using Devices = std::vector<std::string>;
  EXPECT_EQ(used({}), (Devices{"cpu:0", "cpu:1", "cuda:0"}));
  EXPECT_EQ(used({"cpu:1"}), (Devices{"cpu:1"}));
  EXPECT_EQ(used({"cpu:0", "cuda:0"}), (Devices{"cpu:0", "cuda:0"}));
  EXPECT_EQ(used({"cpu"}), (Devices{"cpu:0", "cpu:1"}));
  EXPECT_EQ(used({"cpu:9"}), Devices());
}

TEST_F(EligibleWorkersTest, WhenAllHaveFailedTheFirstOnesReasonIsTheAnswer) {
  Join(0);
  Join(1);
  fit_.Failed(WorkerTask(1), "out of memory", false, kStart);
  fit_.Failed(WorkerTask(0), "no such file", false, kStart);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), "worker 0: no such file");
}

TEST_F(EligibleWorkersTest, AWorkerThatIsOnlyAwayIsWaitedForOneLease) {
  Join(0);
  fit_.Failed(WorkerTask(0), "no such file", false, kStart);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), std::nullopt);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Seconds(9)), std::nullopt);
  EXPECT_NE(fit_.WhyNoneEligible(kStart + absl::Seconds(11)), std::nullopt);
}

TEST_F(EligibleWorkersTest, AnEvaluatorThatFailedIsNoReasonWhileTheWorkersAreAway) {
  fit_.Failed({proto::EVALUATOR, 0}, "no such file", false, kStart);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), std::nullopt);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Hours(1)), std::nullopt);
  fit_.Failed(WorkerTask(0), "out of memory", false, kStart);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Hours(1)), std::nullopt);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Hours(2)), "worker 0: out of memory");
}

TEST_F(EligibleWorkersTest, AnEmptyClusterIsNoFailure) {
  EXPECT_EQ(fit_.WhyNoneEligible(kStart), std::nullopt);
  EXPECT_EQ(fit_.WhyNoneEligible(kStart + absl::Hours(1)), std::nullopt);
}

TEST_F(EligibleWorkersTest, ATransientErrorPausesAWorkerLongerEachTime) {
  Join(0);
  absl::Duration now = kStart;
  for (const int seconds : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    fit_.Failed(WorkerTask(0), "cannot read", true, now);
    EXPECT_TRUE(fit_.Live(false).empty());
    EXPECT_EQ(fit_.WhyNoneEligible(now), std::nullopt) << "it is tried again";
    EXPECT_TRUE(fit_.TakeRecovered(now + absl::Seconds(seconds - 0.1)).empty());
    now += absl::Seconds(seconds);
    EXPECT_EQ(fit_.TakeRecovered(now), (std::vector<TaskId>{WorkerTask(0)}));
    EXPECT_TRUE(fit_.TakeRecovered(now).empty()) << "once";
    EXPECT_EQ(fit_.Live(false).size(), 1u);
  }
  fit_.Failed(WorkerTask(0), "cannot read", true, now);
  EXPECT_TRUE(fit_.TakeRecovered(now + absl::Hours(1)).empty());
  now += absl::Seconds(11);
  EXPECT_EQ(fit_.WhyNoneEligible(now), std::nullopt) << "the other worker is awaited";
  EXPECT_EQ(fit_.WhyNoneEligible(now + absl::Seconds(11)), "worker 0: cannot read");
}

TEST_F(EligibleWorkersTest, ABatchInBetweenForgetsTheErrors) {
  Join(0);
  absl::Duration now = kStart;
  for (int error = 0; error < 3 * EligibleWorkers::kTries; ++error) {
    fit_.Failed(WorkerTask(0), "cannot read", true, now);
    now += absl::Minutes(1);
    ASSERT_EQ(fit_.TakeRecovered(now).size(), 1u);
    fit_.Works(WorkerTask(0));
  }
}

TEST_F(EligibleWorkersTest, AStuckWorkerIsSaidOnceAndForgottenWithItsProcess) {
  EXPECT_TRUE(fit_.SetStuck(WorkerTask(0), true));
  EXPECT_FALSE(fit_.SetStuck(WorkerTask(0), true));
  EXPECT_TRUE(fit_.IsStuck(WorkerTask(0)));
  EXPECT_TRUE(fit_.SetStuck(WorkerTask(0), false));
  EXPECT_FALSE(fit_.SetStuck(WorkerTask(0), false));
  fit_.SetStuck(WorkerTask(0), true);
  fit_.Forget(WorkerTask(0));
  EXPECT_FALSE(fit_.IsStuck(WorkerTask(0)));
}

}  // namespace
}  // namespace cairn::coordinator
