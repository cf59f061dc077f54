#include "coordinator/recovery/snapshot_survey.h"

#include <gtest/gtest.h>

namespace cairn::coordinator {
namespace {

using Indices = std::vector<uint32_t>;

proto::SnapshotPart Part(uint32_t ps, uint64_t checksum = 1) {
  proto::SnapshotPart part;
  part.set_ps(ps);
  part.set_checksum(checksum);
  return part;
}

void AddHeld(uint64_t checkpoint, const proto::SnapshotPart& part, bool own_disk,
             proto::SnapshotList* list) {
  proto::ReadableSnapshot* snapshot = list->add_snapshots();
  snapshot->set_checkpoint(checkpoint);
  *snapshot->mutable_part() = part;
  snapshot->set_own_disk(own_disk);
}

TEST(SnapshotSurveyTest, EverybodyIsAskedOnceAndAgainWhenTheAnswerMayBeLostOrOld) {
  SnapshotSurvey survey(3);
  EXPECT_EQ(survey.TakePsToQuery(), (Indices{0, 1, 2}));
  EXPECT_EQ(survey.TakePsToQuery(), Indices());
  survey.Reply(0, {});
  survey.Reply(1, {});
  EXPECT_FALSE(survey.complete());
  survey.PsAway(1);
  survey.PsAway(2);
  EXPECT_EQ(survey.TakePsToQuery(), Indices{2}) << "the answer of ps 1 holds";
  survey.Reply(2, {});
  EXPECT_TRUE(survey.complete());
  survey.PsLost(0);
  EXPECT_FALSE(survey.complete());
  EXPECT_EQ(survey.TakePsToQuery(), Indices{0});
  survey.AskAgain();
  EXPECT_EQ(survey.TakePsToQuery(), (Indices{0, 1, 2}));
}

TEST(SnapshotSurveyTest, AbsentPsAreNeitherAskedNorAwaited) {
  SnapshotSurvey survey(3);
  survey.SetAbsent({0});
  EXPECT_EQ(survey.TakePsToQuery(), (Indices{1, 2}));
  survey.Reply(1, {});
  survey.Reply(2, {});
  EXPECT_TRUE(survey.complete());
  survey.SetAbsent({});
  EXPECT_FALSE(survey.complete());
}

TEST(SnapshotSurveyTest, ADiskThatHangsIsNotAwaitedAndHoldsNothingUntilItAnswers) {
  proto::SnapshotList list;
  AddHeld(5, Part(1), true, &list);
  SnapshotSurvey survey(2);
  survey.TakePsToQuery();
  survey.Reply(0, {});
  EXPECT_TRUE(survey.Awaits(1));
  survey.SetHangs(1);
  EXPECT_FALSE(survey.Awaits(1));
  EXPECT_TRUE(survey.complete());
  EXPECT_EQ(survey.Hanging(), Indices{1});
  survey.AskAgain();
  EXPECT_EQ(survey.TakePsToQuery(), Indices{0}) << "ps 1 owes an answer";
  survey.Reply(1, list);
  EXPECT_EQ(survey.Hanging(), Indices());
  EXPECT_EQ(survey.Holders(5, Part(1)), Indices{1});
  survey.SetHangs(1);
  EXPECT_EQ(survey.Holders(5, Part(1)), Indices()) << "it listed the part but could not load it";
}

TEST(SnapshotSurveyTest, AnAnswerToAnOlderQuestionIsPassedOver) {
  proto::SnapshotList newer;
  AddHeld(5, Part(0), true, &newer);
  SnapshotSurvey survey(1);
  survey.NoteOtherQuery(0);
  survey.NoteOtherQuery(0);
  survey.AskAgain();
  EXPECT_EQ(survey.TakePsToQuery(), Indices{0});
  survey.Reply(0, {});
  survey.Reply(0, {});
  EXPECT_FALSE(survey.complete());
  survey.Reply(0, newer);
  EXPECT_TRUE(survey.complete());
  EXPECT_EQ(survey.Keepers(5, Part(0)), Indices{0});
}

TEST(SnapshotSurveyTest, OnANewStreamNoOlderAnswerComes) {
  SnapshotSurvey survey(1);
  survey.NoteOtherQuery(0);
  survey.AskAgain();
  EXPECT_EQ(survey.TakePsToQuery(), Indices{0});
  survey.PsAway(0);
  EXPECT_EQ(survey.TakePsToQuery(), Indices{0});
  survey.Reply(0, {});
  EXPECT_TRUE(survey.complete());
}

TEST(SnapshotSurveyTest, FindsReadersAndOwnersOfAPart) {
  proto::SnapshotList zero, one, two;
  AddHeld(5, Part(0), true, &zero);
  AddHeld(5, Part(0), false, &one);
  AddHeld(5, Part(1), true, &one);
  AddHeld(5, Part(0), true, &two);
  AddHeld(5, Part(1, /*checksum=*/2), true, &two);  // Of another job, or damaged.
  AddHeld(6, Part(1), true, &two);
  SnapshotSurvey survey(4);
  survey.Reply(0, zero);
  survey.Reply(1, one);
  survey.Reply(2, two);
  EXPECT_EQ(survey.Keepers(5, Part(0)), (Indices{0, 2}));
  EXPECT_EQ(survey.Holders(5, Part(0)), (Indices{0, 2, 1}));
  EXPECT_EQ(survey.Holders(5, Part(1)), Indices{1});
  EXPECT_EQ(survey.Holders(5, Part(2)), Indices());
}

}  // namespace
}  // namespace cairn::coordinator
