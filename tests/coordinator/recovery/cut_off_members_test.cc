#include "coordinator/recovery/cut_off_members.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(60);

class CutOffMembersTest : public ::testing::Test {
 protected:
  CutOffMembersTest() {
    for (uint32_t ps = 0; ps < 4; ++ps) Join(ps);
  }

  static MembershipOptions Options() {
    MembershipOptions options;
    options.ps_addresses = {"a:1", "b:2", "c:3", "d:4"};
    options.workers_hold_parameters = true;
    options.progress_timeout = kTimeout;
    return options;
  }
  void Join(uint32_t ps) {
    proto::Join join;
    join.set_role(proto::PS);
    join.set_index(ps);
    join.set_address(absl::StrCat("h:", ps + 1));
    join.set_instance_id(ps + 10);
    ASSERT_FALSE(members_.Join(ps + 1, join, now_).refused.has_value());
  }

  // Every second each ps says which others do not answer it.
  void Pass(absl::Duration time) {
    for (const absl::Duration end = now_ + time; now_ < end;) {
      now_ += absl::Seconds(1);
      for (uint32_t ps = 0; ps < 4; ++ps) {
        if (stopped_.contains(ps)) continue;
        if (!members_.Heard(ps + 1, now_).has_value()) continue;
        proto::Heartbeat heartbeat;
        for (const auto& [pair, since] : silent_since_) {
          if (pair.first != ps) continue;
          heartbeat.add_silent_ps()->set_ps(pair.second);
          heartbeat.mutable_silent_ps()->rbegin()->set_milliseconds(
              absl::ToInt64Milliseconds(now_ - since));
        }
        members_.OnHeartbeat(PsTask(ps), heartbeat);
      }
      members_.Tick(now_);
      std::set<uint32_t> members = {0, 1, 2, 3};
      std::erase_if(members, [this](uint32_t ps) { return cut_off_->Contains(ps); });
      const auto may_leave = [this](const std::set<uint32_t>& cut_off) {
        asked_ = cut_off;
        return may_leave_;
      };
      cut_off_->Update(std::move(members), all_pairs_, may_leave, now_);
    }
  }
  void Lose(uint32_t from, uint32_t to) { silent_since_[{from, to}] = now_; }
  void LoseBoth(uint32_t a, uint32_t b) {
    Lose(a, b);
    Lose(b, a);
  }
  void Heal() { silent_since_.clear(); }
  std::vector<uint32_t> CutOff() const { return cut_off_->All(); }

  using List = std::vector<uint32_t>;

  absl::Duration now_ = absl::Seconds(1000);
  Membership members_{Options()};
  std::optional<CutOffMembers> cut_off_{std::in_place, &members_, absl::Span<const uint32_t>()};
  bool all_pairs_ = true;
  bool may_leave_ = true;
  std::set<uint32_t> asked_;  // At last, whether they may leave.
  std::map<std::pair<uint32_t, uint32_t>, absl::Duration> silent_since_;
  std::set<uint32_t> stopped_;
};

TEST_F(CutOffMembersTest, OfAPairTheHigherNumberLeavesAfterTheTimeoutAndNotBefore) {
  Lose(1, 2);
  Pass(kTimeout);
  EXPECT_EQ(CutOff(), List());
  Pass(absl::Seconds(1));
  EXPECT_EQ(CutOff(), List({2}));
  EXPECT_EQ(cut_off_->Why(2), "ps 2 and ps 1 have not reached each other for 61 s");
  Pass(absl::Minutes(10));
  EXPECT_EQ(CutOff(), List({2}));
}

TEST_F(CutOffMembersTest, AGapThatEndsInTimeHasNoConsequence) {
  for (int i = 0; i < 5; ++i) {
    LoseBoth(0, 1);
    Pass(kTimeout - absl::Seconds(1));
    Heal();
    Pass(absl::Seconds(1));
  }
  EXPECT_EQ(CutOff(), List());
}

TEST_F(CutOffMembersTest, OneComesBackWhenThereWasNoGapForTheTimeout) {
  Lose(0, 3);
  Pass(kTimeout + absl::Seconds(1));
  ASSERT_EQ(CutOff(), List({3}));
  // A connection that comes and goes.
  for (int i = 0; i < 5; ++i) {
    Heal();
    Pass(kTimeout - absl::Seconds(2));
    Lose(0, 3);
    Pass(absl::Seconds(2));
    EXPECT_EQ(CutOff(), List({3}));
  }
  Heal();
  Pass(kTimeout - absl::Seconds(1));
  EXPECT_EQ(CutOff(), List({3}));
  Pass(absl::Seconds(1));
  EXPECT_EQ(CutOff(), List());
}

TEST_F(CutOffMembersTest, TheMiddleOfAChainLeaves) {
  Lose(0, 1);
  LoseBoth(1, 2);
  Pass(kTimeout + absl::Seconds(1));
  EXPECT_EQ(CutOff(), List({1}));
}

TEST_F(CutOffMembersTest, AYoungerGapCountsForTheChoiceOnly) {
  Lose(0, 3);
  Pass(kTimeout - absl::Seconds(5));
  Lose(1, 0);
  Pass(absl::Seconds(6));
  EXPECT_EQ(CutOff(), List({0}));
  Pass(absl::Minutes(5));
  EXPECT_EQ(CutOff(), List({0})) << "no gap is left between the others";
}

TEST_F(CutOffMembersTest, TheFirstReportOfAGapDoesNotDecideAlone) {
  Pass(absl::Minutes(2));
  silent_since_[{3, 0}] = now_ - absl::Seconds(70);
  Pass(absl::Seconds(2));
  silent_since_[{2, 0}] = now_ - absl::Seconds(70);
  Pass(absl::Seconds(2));
  EXPECT_EQ(CutOff(), List({0}));
}

TEST_F(CutOffMembersTest, OfTwoHalvesOneGoesOn) {
  for (const uint32_t a : {0, 1}) {
    for (const uint32_t b : {2, 3}) LoseBoth(a, b);
  }
  Pass(kTimeout + absl::Seconds(1));
  EXPECT_EQ(CutOff(), List({2, 3}));
}

TEST_F(CutOffMembersTest, AllThatMustLeaveDoOrNobody) {
  may_leave_ = false;
  for (const uint32_t a : {0, 1}) {
    for (const uint32_t b : {2, 3}) LoseBoth(a, b);
  }
  Pass(kTimeout + absl::Minutes(1));
  EXPECT_EQ(CutOff(), List());
  EXPECT_EQ(asked_, (std::set<uint32_t>{2, 3}));
  may_leave_ = true;
  Pass(absl::Seconds(1));
  EXPECT_EQ(CutOff(), List({2, 3}));
}

TEST_F(CutOffMembersTest, OneThatDoesNotReachItselfLeaves) {
  // Its server hangs: nobody reaches it.
  for (const uint32_t ps : {0, 1, 2, 3}) Lose(ps, 0);
  Pass(kTimeout + absl::Seconds(1));
  EXPECT_EQ(CutOff(), List({0}));
}

TEST_F(CutOffMembersTest, TheLastOneStays) {
  for (uint32_t a = 0; a < 4; ++a) {
    for (uint32_t b = 0; b < 4; ++b) Lose(a, b);
  }
  Pass(kTimeout + absl::Minutes(1));
  EXPECT_EQ(CutOff(), List({1, 2, 3}));
}

// It does not reach the coordinator either; its lease decides.
TEST_F(CutOffMembersTest, AProcessThatIsStoppedIsNotCutOff) {
  stopped_ = {0};
  for (const uint32_t ps : {1, 2, 3}) Lose(ps, 0);
  Pass(absl::Seconds(9));
  stopped_ = {};
  Pass(absl::Seconds(50));
  EXPECT_EQ(CutOff(), List());
  Heal();
  stopped_ = {0};
  for (const uint32_t ps : {1, 2, 3}) Lose(ps, 0);
  Pass(absl::Minutes(5));
  EXPECT_EQ(CutOff(), List()) << "it is lost";
}

TEST_F(CutOffMembersTest, WithoutReplicasOneThatReachesAllIsEnough) {
  all_pairs_ = false;
  Lose(0, 1);
  Lose(1, 0);
  Lose(2, 3);
  Pass(kTimeout + absl::Minutes(1));
  EXPECT_EQ(CutOff(), List()) << "the worker of 3 does all of the work";
  Lose(3, 2);
  Pass(absl::Seconds(2));
  EXPECT_EQ(CutOff(), List({3})) << "the worker of 2 does it";
}

TEST_F(CutOffMembersTest, NobodyLeavesWhileAStreamIsBroken) {
  all_pairs_ = false;
  LoseBoth(0, 1);
  Lose(2, 0);
  Pass(kTimeout + absl::Seconds(10));
  ASSERT_EQ(CutOff(), List()) << "the worker of 3 does all of the work";
  members_.StreamEnded(4);
  Pass(absl::Seconds(1));
  EXPECT_EQ(CutOff(), List()) << "it may be back in time";
  Join(3);
  Pass(kTimeout);
  EXPECT_EQ(CutOff(), List());
  members_.StreamEnded(4);
  Pass(absl::Seconds(20));
  EXPECT_EQ(CutOff(), List({0})) << "it is lost";
}

TEST_F(CutOffMembersTest, TheTimeWithoutAGapBeginsWhenItIsThere) {
  Lose(0, 3);
  Pass(kTimeout + absl::Seconds(1));
  ASSERT_EQ(CutOff(), List({3}));
  Heal();
  members_.StreamEnded(4);
  Pass(kTimeout + absl::Minutes(1));
  EXPECT_EQ(CutOff(), List({3}));
  Join(3);
  Pass(kTimeout - absl::Seconds(1));
  EXPECT_EQ(CutOff(), List({3}));
  Pass(absl::Seconds(2));
  EXPECT_EQ(CutOff(), List());
}

TEST_F(CutOffMembersTest, AnotherCoordinatorKnowsThoseOfTheJournal) {
  const std::vector<uint32_t> journaled = {2};
  cut_off_.emplace(&members_, journaled);
  Pass(kTimeout);
  EXPECT_EQ(CutOff(), List({2}));
  Pass(absl::Seconds(1));
  EXPECT_EQ(CutOff(), List());
}

}  // namespace
}  // namespace cairn::coordinator
