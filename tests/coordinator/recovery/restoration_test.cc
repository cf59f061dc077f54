#include "coordinator/recovery/restoration.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn::coordinator {
namespace {

using Indices = std::vector<uint32_t>;

TEST(RestorationTest, EverybodyIsToldOnce) {
  Restoration restoration(2);
  EXPECT_EQ(restoration.TakePsToRestore(), (Indices{0, 1}));
  EXPECT_EQ(restoration.TakePsToRestore(), Indices());
}

TEST(RestorationTest, ItIsCompleteWhenAllHaveAnswered) {
  Restoration restoration(2);
  restoration.TakePsToRestore();
  restoration.Reply(0, proto::RestoreReply());
  EXPECT_FALSE(restoration.complete());
  proto::RestoreReply reply;
  reply.mutable_ledger()->set_blocks(5);
  restoration.Reply(1, reply);
  ASSERT_TRUE(restoration.complete());
  EXPECT_EQ(restoration.Ledgers()[1].blocks(), 5u);
}

TEST(RestorationTest, ABrokenStreamMeansTellingAgainButAnswersHold) {
  Restoration restoration(2);
  restoration.TakePsToRestore();
  restoration.Reply(0, proto::RestoreReply());
  restoration.PsAway(0);
  restoration.PsAway(1);
  EXPECT_EQ(restoration.TakePsToRestore(), (Indices{1}));
}

TEST(RestorationTest, ANewProcessHasNothing) {
  Restoration restoration(1);
  restoration.TakePsToRestore();
  restoration.Reply(0, proto::RestoreReply());
  restoration.PsLost(0);
  EXPECT_FALSE(restoration.complete());
  EXPECT_EQ(restoration.TakePsToRestore(), (Indices{0}));
}

TEST(RestorationTest, AnErrorIsNoAnswer) {
  Restoration restoration(1);
  proto::RestoreReply reply;
  reply.set_error("snapshot 3 is missing");
  EXPECT_EQ(restoration.Reply(0, reply), "snapshot 3 is missing");
  EXPECT_FALSE(restoration.complete());
}

}  // namespace
}  // namespace cairn::coordinator
