#include "coordinator/recovery/checkpoint_choice.h"

#include <gtest/gtest.h>

#include <map>

namespace cairn::coordinator {
namespace {

using PsSet = std::set<uint32_t>;

// Checkpoints of two ps with one block each, and the ps that have parts of them: "5:0" is part 0 of
// checkpoint 5.
class CheckpointChoiceTest : public ::testing::Test {
 protected:
  void AddManifest(uint64_t checkpoint, uint32_t ps_count = 2) {
    proto::Manifest& manifest = manifests_.emplace_back();
    manifest.set_checkpoint(checkpoint);
    manifest.mutable_partition()->set_ps_count(ps_count);
    for (uint32_t ps = 0; ps < ps_count; ++ps) *manifest.add_parts() = Part(checkpoint, ps);
  }

  static proto::SnapshotPart Part(uint64_t checkpoint, uint32_t ps) {
    proto::SnapshotPart part;
    part.set_ps(ps);
    part.set_blocks(1);
    part.set_checksum(checkpoint * 100 + ps);
    return part;
  }

  void Has(uint32_t ps, uint64_t checkpoint, uint32_t part) {
    proto::ReadableSnapshot* snapshot = lists_[ps].add_snapshots();
    snapshot->set_checkpoint(checkpoint);
    *snapshot->mutable_part() = Part(checkpoint, part);
    snapshot->set_own_disk(true);
  }
  // The regular placement of a checkpoint of two ps.
  void HasAll(uint64_t checkpoint) {
    for (const uint32_t ps : {0, 1}) {
      Has(ps, checkpoint, ps);
      Has(ps, checkpoint, 1 - ps);
    }
  }

  CheckpointChoice Choose(uint32_t ps_count = 2, int64_t copies = 2) {
    SnapshotSurvey survey(ps_count);
    survey.SetAbsent(absent_);
    for (uint32_t ps = 0; ps < ps_count; ++ps) survey.Reply(ps, lists_[ps]);
    for (const uint32_t ps : hanging_) survey.SetHangs(ps);
    return ChooseCheckpoint(manifests_, survey, ps_count, copies);
  }

  std::vector<proto::Manifest> manifests_;
  std::map<uint32_t, proto::SnapshotList> lists_;
  PsSet hanging_;
  PsSet absent_;
};

TEST_F(CheckpointChoiceTest, TheNewestCompleteOneIsTakenAsItLies) {
  AddManifest(4);
  AddManifest(5);
  HasAll(4);
  HasAll(5);
  const CheckpointChoice choice = Choose();
  EXPECT_EQ(choice.checkpoint, 5u);
  EXPECT_FALSE(choice.scattered);
  EXPECT_EQ(choice.without, PsSet());
  ASSERT_EQ(choice.parts.size(), 2u);
  EXPECT_EQ(choice.parts[1].part().checksum(), 501u);
  EXPECT_EQ(choice.parts[1].holders_size(), 2);
}

TEST_F(CheckpointChoiceTest, ADiskThatHangsIsReplacedByCopiesOrAnOlderCheckpointOrAwaited) {
  AddManifest(4);
  AddManifest(5);
  HasAll(4);
  HasAll(5);
  hanging_ = {1};
  EXPECT_EQ(Choose().checkpoint, 5u);
  EXPECT_EQ(Choose().parts[1].holders_size(), 1);
  EXPECT_EQ(Choose().parts[1].holders(0), 0u);
  // Checkpoint 5 has no copy of part 1 yet.
  lists_.clear();
  HasAll(4);
  Has(0, 5, 0);
  Has(1, 5, 1);
  EXPECT_EQ(Choose().checkpoint, 4u);
  EXPECT_EQ(Choose().awaited, PsSet());
  // Nor has checkpoint 4. Parts on a disk that hangs are not lost.
  lists_.clear();
  for (const uint64_t checkpoint : {4, 5}) Has(0, checkpoint, 0);
  EXPECT_EQ(Choose().checkpoint, 5u);
  EXPECT_EQ(Choose().awaited, PsSet{1});
}

TEST_F(CheckpointChoiceTest, WithoutCheckpointsThereAreTheInitialValues) {
  EXPECT_EQ(Choose().checkpoint, 0u);
}

TEST_F(CheckpointChoiceTest, ADiskThatIsEmptyIsReplacedByCopiesAndNamed) {
  AddManifest(5);
  Has(0, 5, 0);
  Has(0, 5, 1);
  const CheckpointChoice choice = Choose();
  EXPECT_EQ(choice.checkpoint, 5u);
  EXPECT_TRUE(choice.scattered);
  EXPECT_EQ(choice.without, PsSet{1});
}

TEST_F(CheckpointChoiceTest, APartOnlyOnAnErasedDiskIsLostAndTheCheckpointBeforeIsTaken) {
  AddManifest(4);
  AddManifest(5);
  HasAll(4);
  Has(0, 5, 0);
  const CheckpointChoice choice = Choose();
  EXPECT_EQ(choice.checkpoint, 4u);
  EXPECT_EQ(choice.without, PsSet{1});
}

TEST_F(CheckpointChoiceTest, NothingIsLeftWhenNoneIsComplete) {
  AddManifest(4);
  AddManifest(5);
  Has(0, 4, 0);
  Has(0, 5, 0);
  const CheckpointChoice choice = Choose();
  EXPECT_EQ(choice.checkpoint, 0u);
  EXPECT_EQ(choice.without, PsSet{1});
}

TEST_F(CheckpointChoiceTest, ADamagedOneIsNotLookedAt) {
  AddManifest(4);
  AddManifest(5);
  manifests_[1].set_damaged("rot");
  HasAll(4);
  HasAll(5);
  EXPECT_EQ(Choose().checkpoint, 4u);
}

TEST_F(CheckpointChoiceTest, MorePsFindThePartsOfTheOthers) {
  AddManifest(5);
  HasAll(5);
  const CheckpointChoice choice = Choose(/*ps_count=*/3);
  EXPECT_EQ(choice.checkpoint, 5u);
  EXPECT_TRUE(choice.scattered);
  EXPECT_EQ(choice.without, PsSet()) << "ps 2 never had a part of it";
}

TEST_F(CheckpointChoiceTest, FewerPsNeedACopyAndOtherwiseWaitForTheOneThatIsMissing) {
  AddManifest(4, 3);
  AddManifest(5, 3);
  for (const uint64_t checkpoint : {4, 5}) {
    Has(0, checkpoint, 0);
    Has(1, checkpoint, 1);
  }
  Has(0, 4, 2);
  CheckpointChoice choice = Choose(2);
  EXPECT_EQ(choice.awaited, PsSet{2}) << "it is newer than the complete one, and may come back";
  EXPECT_EQ(choice.checkpoint, 5u);
  Has(0, 5, 2);
  choice = Choose(2);
  EXPECT_EQ(choice.awaited, PsSet());
  EXPECT_EQ(choice.checkpoint, 5u);
  // With a ps 2 in the cluster that does not have it, it is lost.
  lists_[0].Clear();
  Has(0, 4, 0);
  Has(0, 4, 2);
  Has(0, 5, 0);
  EXPECT_EQ(Choose(3).checkpoint, 4u);
}

TEST_F(CheckpointChoiceTest, WhatOnlyAnAbsentPsHasIsAwaitedUnlessThereIsAnOlderCheckpoint) {
  absent_ = {1};
  AddManifest(5);
  Has(0, 5, 0);
  CheckpointChoice choice = Choose();
  EXPECT_EQ(choice.checkpoint, 5u);
  EXPECT_EQ(choice.awaited, PsSet{1});
  AddManifest(6);
  Has(0, 6, 0);
  Has(0, 5, 1);
  choice = Choose();
  EXPECT_EQ(choice.checkpoint, 5u);
  EXPECT_EQ(choice.awaited, PsSet());
  Has(0, 6, 1);
  choice = Choose();
  EXPECT_EQ(choice.checkpoint, 6u);
  EXPECT_EQ(choice.without, PsSet()) << "nobody is surprised that it is not there";
}

TEST_F(CheckpointChoiceTest, WithoutCopiesBeingWantedTheirAbsenceIsInOrder) {
  AddManifest(5);
  Has(0, 5, 0);
  Has(1, 5, 1);
  EXPECT_FALSE(Choose(2, /*copies=*/1).scattered);
  EXPECT_TRUE(Choose(2, /*copies=*/2).scattered);
}

TEST_F(CheckpointChoiceTest, APartWithoutBlocksIsNotMissed) {
  AddManifest(5);
  manifests_[0].mutable_parts(1)->set_blocks(0);
  Has(0, 5, 0);
  Has(1, 5, 0);
  const CheckpointChoice choice = Choose();
  EXPECT_EQ(choice.checkpoint, 5u);
  EXPECT_FALSE(choice.scattered);
  EXPECT_EQ(choice.without, PsSet());
}

}  // namespace
}  // namespace cairn::coordinator
