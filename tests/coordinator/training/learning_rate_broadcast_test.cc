#include "coordinator/training/learning_rate_broadcast.h"

#include <gtest/gtest.h>

#include <set>

namespace cairn::coordinator {
namespace {

class LearningRateBroadcastTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plan_.set_job_id(1);
    plan_.mutable_partition()->set_ps_count(2);
    run_.set_generation(3);
    run_.add_rates();
  }

  static std::set<uint32_t> Told(LearningRateBroadcast* announcement) {
    Outbox outbox;
    announcement->Announce(&outbox);
    std::set<uint32_t> told;
    for (const auto& sending : outbox.commands) told.insert(sending.task.index);
    return told;
  }

  static proto::RatesReply Reply(int64_t changes, uint64_t generation = 3) {
    proto::RatesReply reply;
    reply.set_job_id(1);
    reply.set_generation(generation);
    reply.set_changes(changes);
    return reply;
  }

  proto::JobPlan plan_;
  proto::RunRecord run_;
};

using Indices = std::set<uint32_t>;

TEST_F(LearningRateBroadcastTest, RatesThatCameWithTheRestoreAreKnown) {
  LearningRateBroadcast announcement(&plan_, &run_);
  EXPECT_TRUE(announcement.complete());
  EXPECT_EQ(Told(&announcement), Indices());
}

TEST_F(LearningRateBroadcastTest, IsCompleteWhenEveryPsHasAnsweredForTheNewestChange) {
  LearningRateBroadcast announcement(&plan_, &run_);
  run_.add_rates();
  EXPECT_FALSE(announcement.complete());
  EXPECT_EQ(Told(&announcement), (Indices{0, 1}));
  EXPECT_EQ(Told(&announcement), Indices());
  announcement.Reply(0, Reply(2));
  announcement.Reply(1, Reply(1));
  announcement.Reply(1, Reply(2, /*generation=*/2));
  EXPECT_FALSE(announcement.complete());
  announcement.Reply(1, Reply(2));
  EXPECT_TRUE(announcement.complete());
}

TEST_F(LearningRateBroadcastTest, APsOnANewStreamIsToldAgainUnlessItHasAnswered) {
  LearningRateBroadcast announcement(&plan_, &run_);
  run_.add_rates();
  Told(&announcement);
  announcement.Reply(0, Reply(2));
  announcement.PsReconnected(0);
  announcement.PsReconnected(1);
  EXPECT_EQ(Told(&announcement), Indices{1});
}

TEST_F(LearningRateBroadcastTest, ACoordinatorThatIsBackTellsEverybody) {
  LearningRateBroadcast announcement(&plan_, &run_);
  announcement.ResetConfirmations();
  EXPECT_FALSE(announcement.complete());
  EXPECT_EQ(Told(&announcement), (Indices{0, 1}));
}

// A rollback halves the rate, and the new generation begins with all rates.
TEST_F(LearningRateBroadcastTest, HalvedRatesAreSentAndCounted) {
  run_.mutable_rates(0)->set_learning_rate(0.5);
  run_.add_rate_halved_at(0);
  LearningRateBroadcast announcement(&plan_, &run_);
  EXPECT_TRUE(announcement.complete());
  run_.add_rates()->set_from_batch(10);
  EXPECT_FALSE(announcement.complete());
  Outbox outbox;
  announcement.Announce(&outbox);
  ASSERT_EQ(outbox.commands.size(), 2u);
  const auto& rates = outbox.commands[0].command.set_rates().rates();
  ASSERT_EQ(rates.size(), 3);
  EXPECT_EQ(rates[1].learning_rate(), 0.25);
  announcement.Reply(0, Reply(3));
  announcement.Reply(1, Reply(3));
  EXPECT_TRUE(announcement.complete());
}

}  // namespace
}  // namespace cairn::coordinator
