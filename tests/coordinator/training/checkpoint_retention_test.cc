#include "coordinator/training/checkpoint_retention.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::coordinator {
namespace {

proto::HeldCut MakeCut(uint64_t id) {
  proto::HeldCut cut;
  cut.set_cut(id);
  cut.set_applied_batches(40);
  cut.set_reason("steps");
  cut.mutable_ledger()->set_low_water(40);
  return cut;
}

proto::PersistReply Reply(uint64_t cut, uint64_t generation, const std::string& error = "") {
  proto::PersistReply reply;
  reply.set_cut(cut);
  reply.set_generation(generation);
  reply.set_error(error);
  reply.mutable_part()->set_bytes(100);
  return reply;
}

TEST(CheckpointRetentionTest, OneIsDueEverySoManyBatches) {
  CheckpointRetention checkpointer({.every_steps = 10}, {}, 5);
  EXPECT_FALSE(checkpointer.Due(14));
  EXPECT_TRUE(checkpointer.Due(15));
  checkpointer.Passed(17);
  EXPECT_FALSE(checkpointer.Due(26));
  EXPECT_TRUE(checkpointer.Due(27));
  EXPECT_FALSE(CheckpointRetention({}, {}, 0).Due(1000000));
}

TEST(CheckpointRetentionTest, AManifestNeedsTheAnswersOfAllPs) {
  CheckpointRetention checkpointer({.job_id = 6, .ps_count = 2}, {}, 0);
  checkpointer.Begin(MakeCut(3), 7);
  checkpointer.Reply(0, Reply(3, 7));
  EXPECT_FALSE(checkpointer.TakeResult(9).has_value());
  EXPECT_TRUE(checkpointer.Awaits(1));
  EXPECT_FALSE(checkpointer.Awaits(0));
  checkpointer.Reply(1, Reply(3, 6));  // An older generation: ignored.
  checkpointer.Reply(1, Reply(2, 7));
  checkpointer.Reply(2, Reply(3, 7));  // There is no such ps.
  EXPECT_FALSE(checkpointer.TakeResult(9).has_value());
  checkpointer.Reply(1, Reply(3, 7));
  const auto result = checkpointer.TakeResult(9);
  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_EQ((*result)->checkpoint(), 3u);
  EXPECT_EQ((*result)->applied_batches(), 40);
  EXPECT_EQ((*result)->parts_size(), 2);
  EXPECT_EQ((*result)->parts(1).ps(), 1u);
  ASSERT_EQ(checkpointer.manifests().size(), 1u);
  EXPECT_EQ(checkpointer.manifests()[0].job_id(), 6u);
  EXPECT_EQ(checkpointer.manifests()[0].unix_seconds(), 9);
  EXPECT_FALSE(checkpointer.writing());
}

TEST(CheckpointRetentionTest, OneFailedPartFailsTheCheckpointAndTheOthersStay) {
  proto::Manifest old;
  old.set_checkpoint(1);
  CheckpointRetention checkpointer({.ps_count = 2}, {old}, 0);
  checkpointer.Begin(MakeCut(2), 1);
  checkpointer.Reply(0, Reply(2, 1));
  checkpointer.Reply(1, Reply(2, 1, "no space left"));
  const auto result = checkpointer.TakeResult(9);
  ASSERT_TRUE(result.has_value());
  EXPECT_NE(result->status().message().find("ps 1"), std::string::npos);
  EXPECT_NE(result->status().message().find("no space left"), std::string::npos);
  ASSERT_EQ(checkpointer.manifests().size(), 1u);
  EXPECT_EQ(checkpointer.manifests()[0].checkpoint(), 1u);
  EXPECT_FALSE(checkpointer.writing());
}

TEST(CheckpointRetentionTest, OnlyTheNewestAreKept) {
  std::vector<proto::Manifest> manifests(4);
  for (int i = 0; i < 4; ++i) manifests[i].set_checkpoint(i + 1);
  CheckpointRetention checkpointer({.keep = 2}, manifests, 0);
  const auto surplus = checkpointer.TakeExpired({});
  ASSERT_EQ(surplus.size(), 2u);
  EXPECT_EQ(surplus[1].checkpoint(), 2u);
  EXPECT_EQ(checkpointer.manifests()[0].checkpoint(), 3u);
  EXPECT_TRUE(checkpointer.TakeExpired({}).empty());
}

TEST(CheckpointRetentionTest, PinnedOnesStayBesideTheNewest) {
  std::vector<proto::Manifest> manifests(5);
  for (int i = 0; i < 5; ++i) manifests[i].set_checkpoint(i + 1);
  CheckpointRetention checkpointer({.keep = 2}, manifests, 0);
  const auto surplus = checkpointer.TakeExpired({2, 5});
  ASSERT_EQ(surplus.size(), 2u);
  EXPECT_EQ(surplus[0].checkpoint(), 1u);
  EXPECT_EQ(surplus[1].checkpoint(), 3u);
  ASSERT_EQ(checkpointer.manifests().size(), 3u);
  EXPECT_EQ(checkpointer.manifests()[0].checkpoint(), 2u);
}

TEST(CheckpointRetentionTest, PassedOverCheckpointsStayUntilANewOneIsMade) {
  std::vector<proto::Manifest> manifests(4);
  for (int i = 0; i < 4; ++i) manifests[i].set_checkpoint(i + 1);
  manifests[1].set_damaged("its disk has rotted");
  CheckpointRetention checkpointer({.generation = 2, .base_checkpoint = 3}, manifests, 0);
  ASSERT_EQ(checkpointer.manifests().size(), 2u);
  EXPECT_EQ(checkpointer.manifests()[1].checkpoint(), 3u);
  ASSERT_EQ(checkpointer.all_manifests().size(), 4u);
  EXPECT_EQ(checkpointer.all_manifests()[1].checkpoint(), 2u);
  EXPECT_TRUE(checkpointer.TakeExpired({}).empty());
  checkpointer.Begin(MakeCut(5), 2);
  checkpointer.Reply(0, Reply(5, 2));
  ASSERT_TRUE(checkpointer.TakeResult(9).has_value());
  const auto surplus = checkpointer.TakeExpired({});
  ASSERT_EQ(surplus.size(), 2u);
  EXPECT_EQ(surplus[0].checkpoint(), 2u);
  EXPECT_EQ(surplus[1].checkpoint(), 4u);
  EXPECT_EQ(checkpointer.all_manifests().size(), 3u);
}

TEST(CheckpointRetentionTest, AManifestThatIsGoneIsNotUpdated) {
  proto::Manifest old;
  old.set_checkpoint(1);
  CheckpointRetention checkpointer({}, {old}, 0);
  old.add_parts()->add_copies(1);
  EXPECT_TRUE(checkpointer.Update(old));
  EXPECT_EQ(checkpointer.manifests()[0].parts(0).copies(0), 1u);
  old.set_checkpoint(2);
  EXPECT_FALSE(checkpointer.Update(old));
}

}  // namespace
}  // namespace cairn::coordinator
