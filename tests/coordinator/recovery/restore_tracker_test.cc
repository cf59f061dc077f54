#include "coordinator/recovery/restore_tracker.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn::coordinator {
namespace {

using Indices = std::vector<uint32_t>;

TEST(RestoreTrackerTest, SendsRestoreToEachPsOnce) {
  RestoreTracker tracker(2);
  EXPECT_EQ(tracker.TakePsToRestore(), (Indices{0, 1}));
  EXPECT_EQ(tracker.TakePsToRestore(), Indices());
}

TEST(RestoreTrackerTest, ItIsCompleteWhenAllHaveAnswered) {
  RestoreTracker tracker(2);
  tracker.TakePsToRestore();
  tracker.Reply(0, proto::RestoreReply());
  EXPECT_FALSE(tracker.complete());
  proto::RestoreReply reply;
  reply.mutable_ledger()->set_blocks(5);
  tracker.Reply(1, reply);
  ASSERT_TRUE(tracker.complete());
  EXPECT_EQ(tracker.Ledgers()[1].blocks(), 5u);
}

TEST(RestoreTrackerTest, ABrokenStreamMeansTellingAgainButAnswersHold) {
  RestoreTracker tracker(2);
  tracker.TakePsToRestore();
  tracker.Reply(0, proto::RestoreReply());
  tracker.PsAway(0);
  tracker.PsAway(1);
  EXPECT_EQ(tracker.TakePsToRestore(), (Indices{1}));
}

TEST(RestoreTrackerTest, AbsentPsAreNeitherToldNorAwaited) {
  RestoreTracker tracker(3, {1});
  EXPECT_EQ(tracker.TakePsToRestore(), (Indices{0, 2}));
  tracker.Reply(0, proto::RestoreReply());
  EXPECT_FALSE(tracker.complete());
  tracker.Reply(2, proto::RestoreReply());
  ASSERT_TRUE(tracker.complete());
  EXPECT_EQ(tracker.Ledgers().size(), 2u);
}

TEST(RestoreTrackerTest, ANewProcessHasNothing) {
  RestoreTracker tracker(1);
  tracker.TakePsToRestore();
  tracker.Reply(0, proto::RestoreReply());
  tracker.PsLost(0);
  EXPECT_FALSE(tracker.complete());
  EXPECT_EQ(tracker.TakePsToRestore(), (Indices{0}));
}

TEST(RestoreTrackerTest, AnErrorIsNoAnswer) {
  RestoreTracker tracker(1);
  proto::RestoreReply reply;
  reply.set_error("snapshot 3 is missing");
  EXPECT_EQ(tracker.Reply(0, reply), "snapshot 3 is missing");
  EXPECT_FALSE(tracker.complete());
}

}  // namespace
}  // namespace cairn::coordinator
