#include "coordinator/recovery/replica_survey.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace cairn::coordinator {
namespace {

proto::ReplicaOffer Offer(uint64_t from_generation, int64_t lowest, int64_t newest) {
  proto::ReplicaOffer offer;
  offer.set_complete(true);
  offer.set_from_generation(from_generation);
  offer.set_lowest(lowest);
  offer.set_newest(newest);
  return offer;
}

std::vector<uint32_t> Holders(const proto::ReplicaSource& source) {
  return {source.holders().begin(), source.holders().end()};
}

TEST(ReplicaSurvey, TheNewestVersionThatAMemberHasIsChosen) {
  ReplicaSurvey survey(5);
  for (uint32_t ps = 0; ps < 5; ++ps) survey.Asked(ps);
  survey.Reply(0, Offer(3, 8, 8));
  survey.Reply(1, Offer(3, 8, 12));
  survey.Reply(2, Offer(3, 12, 12));
  EXPECT_FALSE(survey.complete());
  EXPECT_TRUE(survey.Awaits(3));
  survey.Reply(4, Offer(3, 4, 8));
  survey.Reply(3, proto::ReplicaOffer());  // It has nothing: its process is new.
  ASSERT_TRUE(survey.complete());
  const std::optional<proto::ReplicaSource> source = survey.Choose(/*since=*/3);
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(source->version(), 12);
  EXPECT_EQ(Holders(*source), (std::vector<uint32_t>{1, 2}));
}

TEST(ReplicaSurvey, AbsentMembersAreNotAsked) {
  ReplicaSurvey survey(3, {1});
  EXPECT_TRUE(survey.MustAsk(0));
  EXPECT_FALSE(survey.MustAsk(1));
  survey.Reply(0, Offer(3, 8, 8));
  EXPECT_FALSE(survey.complete());
  survey.Reply(2, Offer(3, 8, 12));
  ASSERT_TRUE(survey.complete());
  EXPECT_EQ(Holders(*survey.Choose(3)), (std::vector<uint32_t>{2}));
}

TEST(ReplicaSurvey, WhatIsOutOfDateOrIncompleteDoesNotCount) {
  ReplicaSurvey survey(2);
  survey.Reply(0, Offer(2, 100, 100));
  proto::ReplicaOffer incomplete = Offer(3, 8, 4);
  incomplete.set_complete(false);
  survey.Reply(1, incomplete);
  EXPECT_FALSE(survey.Choose(/*since=*/3).has_value());
  EXPECT_EQ(survey.Choose(/*since=*/2)->version(), 100);
}

TEST(ReplicaSurvey, AMemberIsAskedAgainWhenItsAnswerMayBeLost) {
  ReplicaSurvey survey(2);
  EXPECT_TRUE(survey.MustAsk(0));
  survey.Asked(0);
  survey.Asked(1);
  EXPECT_FALSE(survey.MustAsk(0));
  survey.Reply(1, Offer(1, 0, 0));
  survey.PsAway(0);
  survey.PsAway(1);
  EXPECT_TRUE(survey.MustAsk(0));
  EXPECT_FALSE(survey.MustAsk(1));
  survey.AskAgain();
  EXPECT_TRUE(survey.MustAsk(1));
  EXPECT_FALSE(survey.complete());
}

}  // namespace
}  // namespace cairn::coordinator
