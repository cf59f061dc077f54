#include "coordinator/training/checkpoint_copies.h"

#include <gtest/gtest.h>

namespace cairn::coordinator {
namespace {

proto::Manifest MakeManifest(uint64_t checkpoint, uint32_t ps_count) {
  proto::Manifest manifest;
  manifest.set_checkpoint(checkpoint);
  for (uint32_t ps = 0; ps < ps_count; ++ps) {
    proto::SnapshotPart* part = manifest.add_parts();
    part->set_ps(ps);
    part->set_blocks(4);
    part->set_checksum(100 + ps);
  }
  return manifest;
}

proto::CopyReply Reply(uint64_t checkpoint, uint32_t part, const std::string& error = "") {
  proto::CopyReply reply;
  reply.set_checkpoint(checkpoint);
  reply.set_part(part);
  reply.set_error(error);
  return reply;
}

TEST(CheckpointCopiesTest, EachSnapshotGoesToTheNeighbour) {
  CheckpointCopies copies(3, 2);
  const auto orders = copies.Begin(MakeManifest(5, 3));
  ASSERT_EQ(orders.size(), 3u);
  for (const auto& order : orders) {
    EXPECT_EQ(order.ps, (order.part.ps() + 1) % 3);
    EXPECT_EQ(order.checkpoint, 5u);
    EXPECT_EQ(order.part.checksum(), 100 + order.part.ps());
    EXPECT_FALSE(copies.TakeResult().has_value());
    copies.Reply(order.ps, Reply(5, order.part.ps()));
  }
  EXPECT_FALSE(copies.idle());
  const auto result = copies.TakeResult();
  ASSERT_TRUE(result.has_value());
  for (const auto& part : result->manifest.parts()) {
    ASSERT_EQ(part.copies_size(), 1);
    EXPECT_EQ(part.copies(0), (part.ps() + 1) % 3);
  }
  EXPECT_EQ(result->failed, 0);
  EXPECT_TRUE(copies.idle());
  EXPECT_FALSE(copies.TakeResult().has_value());
}

TEST(CheckpointCopiesTest, WithOneCopyOrOnePsThereIsNothingToDo) {
  for (CheckpointCopies copies : {CheckpointCopies(3, 1), CheckpointCopies(1, 2)}) {
    EXPECT_TRUE(copies.Begin(MakeManifest(5, 1)).empty());
    const auto result = copies.TakeResult();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->manifest.checkpoint(), 5u);
    EXPECT_EQ(result->manifest.parts(0).copies_size(), 0);
  }
}

TEST(CheckpointCopiesTest, AFailedCopyIsCountedAndNamedAndTheRestGoesOn) {
  CheckpointCopies copies(2, 2);
  copies.Begin(MakeManifest(5, 2));
  copies.Reply(1, Reply(5, 0, "no space left on device"));
  EXPECT_FALSE(copies.TakeResult().has_value());
  copies.Reply(0, Reply(5, 1));
  const auto result = copies.TakeResult();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->failed, 1);
  EXPECT_EQ(result->error,
            "ps 1 could not copy ps 0's snapshot of checkpoint 5: no space left on device");
  EXPECT_EQ(result->manifest.parts(0).copies_size(), 0);
  EXPECT_EQ(result->manifest.parts(1).copies_size(), 1);
}

TEST(CheckpointCopiesTest, RepliesWithoutAnOrderAreIgnored) {
  CheckpointCopies copies(2, 2);
  copies.Begin(MakeManifest(5, 2));
  copies.Reply(0, Reply(5, 0));  // Its own part.
  copies.Reply(1, Reply(4, 0));
  copies.Reply(1, Reply(5, 7));
  EXPECT_FALSE(copies.TakeResult().has_value());
  copies.Reply(1, Reply(5, 0));
  copies.Reply(1, Reply(5, 0, "late"));
  copies.Reply(0, Reply(5, 1));
  EXPECT_EQ(copies.TakeResult()->failed, 0);
}

TEST(CheckpointCopiesTest, AReturningPsGetsItsUnansweredOrdersAgain) {
  CheckpointCopies copies(2, 2);
  copies.Begin(MakeManifest(5, 2));
  copies.Begin(MakeManifest(6, 2));
  copies.Reply(1, Reply(5, 0));
  const auto orders = copies.OrdersOf(1);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].checkpoint, 6u);
  EXPECT_EQ(orders[0].part.ps(), 0u);
  EXPECT_EQ(copies.OrdersOf(0).size(), 2u);
}

TEST(CheckpointCopiesTest, PartsWithoutBlocksAndThoseWithACopyAreLeftAlone) {
  proto::Manifest manifest = MakeManifest(5, 3);
  manifest.mutable_parts(0)->set_blocks(0);
  manifest.mutable_parts(1)->add_copies(2);
  CheckpointCopies copies(3, 2);
  const auto orders = copies.Begin(manifest);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].part.ps(), 2u);
}

}  // namespace
}  // namespace cairn::coordinator
