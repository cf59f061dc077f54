#include "coordinator/training/checkpoint_copies.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

proto::JobPlan Plan(uint32_t ps_count, int64_t copies) {
  proto::JobPlan plan;
  plan.set_job_id(3);
  plan.mutable_partition()->set_ps_count(ps_count);
  plan.mutable_job()->mutable_checkpoint()->set_copies(copies);
  return plan;
}

struct Order {
  uint32_t ps = 0;
  uint64_t checkpoint = 0;
  proto::SnapshotPart part;
};

std::vector<Order> OrdersIn(const Outbox& outbox) {
  std::vector<Order> orders;
  for (const Outbox::Sending& sending : outbox.commands) {
    EXPECT_EQ(sending.task.role, proto::PS);
    EXPECT_EQ(sending.command.copy_snapshot().job_id(), 3u);
    EXPECT_EQ(sending.command.copy_snapshot().generation(), 7u);
    orders.push_back({sending.task.index, sending.command.copy_snapshot().checkpoint(),
                      sending.command.copy_snapshot().part()});
  }
  return orders;
}

std::vector<Order> Begin(CheckpointCopies* copies, const proto::Manifest& manifest) {
  Outbox outbox;
  copies->Begin(manifest, &outbox);
  return OrdersIn(outbox);
}

std::vector<Order> OrdersAgain(const CheckpointCopies& copies, uint32_t ps) {
  Outbox outbox;
  copies.PsReconnected(ps, &outbox);
  return OrdersIn(outbox);
}

proto::CopyReply Reply(uint64_t checkpoint, uint32_t part, const std::string& error = "") {
  proto::CopyReply reply;
  reply.set_checkpoint(checkpoint);
  reply.set_part(part);
  reply.set_error(error);
  return reply;
}

TEST(CheckpointCopiesTest, EachSnapshotGoesToTheNeighbour) {
  const proto::JobPlan plan = Plan(3, 2);
  CheckpointCopies copies(&plan, 7);
  const auto orders = Begin(&copies, MakeManifest(5, 3));
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
  for (const proto::JobPlan& plan : {Plan(3, 1), Plan(1, 2)}) {
    CheckpointCopies copies(&plan, 7);
    EXPECT_TRUE(Begin(&copies, MakeManifest(5, 1)).empty());
    const auto result = copies.TakeResult();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->manifest.checkpoint(), 5u);
    EXPECT_EQ(result->manifest.parts(0).copies_size(), 0);
  }
}

TEST(CheckpointCopiesTest, AFailedCopyIsCountedAndNamedAndTheRestGoesOn) {
  const proto::JobPlan plan = Plan(2, 2);
  CheckpointCopies copies(&plan, 7);
  Begin(&copies, MakeManifest(5, 2));
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
  const proto::JobPlan plan = Plan(2, 2);
  CheckpointCopies copies(&plan, 7);
  Begin(&copies, MakeManifest(5, 2));
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
  const proto::JobPlan plan = Plan(2, 2);
  CheckpointCopies copies(&plan, 7);
  Begin(&copies, MakeManifest(5, 2));
  Begin(&copies, MakeManifest(6, 2));
  copies.Reply(1, Reply(5, 0));
  const auto orders = OrdersAgain(copies, 1);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].checkpoint, 6u);
  EXPECT_EQ(orders[0].part.ps(), 0u);
  EXPECT_EQ(OrdersAgain(copies, 0).size(), 2u);
}

TEST(CheckpointCopiesTest, PartsWithoutBlocksAndThoseWithACopyAreLeftAlone) {
  proto::Manifest manifest = MakeManifest(5, 3);
  manifest.mutable_parts(0)->set_blocks(0);
  manifest.mutable_parts(1)->add_copies(2);
  const proto::JobPlan plan = Plan(3, 2);
  CheckpointCopies copies(&plan, 7);
  const auto orders = Begin(&copies, manifest);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].part.ps(), 2u);
}

}  // namespace
}  // namespace cairn::coordinator
