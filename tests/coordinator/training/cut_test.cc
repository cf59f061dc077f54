#include "coordinator/training/cut.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::coordinator {
namespace {

proto::CutReply Reply(uint64_t cut, int64_t everywhere, int64_t somewhere) {
  proto::CutReply reply;
  reply.set_cut(cut);
  reply.mutable_ledger()->set_blocks(1);
  reply.mutable_ledger()->mutable_everywhere()->set_low_water(everywhere);
  reply.mutable_ledger()->mutable_somewhere()->set_low_water(somewhere);
  return reply;
}

TEST(CutTest, ItWaitsForEveryWorkerThatHoldsOrIsGone) {
  Cut cut({"steps", true, false, -1}, /*hold=*/7, /*end=*/100);
  cut.AwaitHeld(WorkerTask(0));
  cut.AwaitHeld(WorkerTask(1));
  EXPECT_FALSE(cut.Held(WorkerTask(0), 6));  // An older hold.
  EXPECT_TRUE(cut.Held(WorkerTask(0), 7));
  EXPECT_TRUE(cut.holding());
  cut.WorkerGone(WorkerTask(1));
  EXPECT_FALSE(cut.holding());
}

TEST(CutTest, EqualLedgersMakeACut) {
  Cut cut({"steps", true, false, -1}, 1, 100);
  cut.Begin(5, 2);
  cut.Reply(0, Reply(5, 10, 10));
  cut.Reply(1, Reply(4, 10, 10));  // Of an older cut.
  EXPECT_FALSE(cut.complete());
  cut.Reply(1, Reply(5, 10, 10));
  ASSERT_TRUE(cut.complete());
  const auto applied = cut.Result(100);
  ASSERT_TRUE(applied.ok());
  EXPECT_TRUE(applied->half.empty());
  EXPECT_EQ(applied->open.front(), 10);
}

TEST(CutTest, BatchesOnSomeBlocksOnlyAreHalfApplied) {
  Cut cut({"steps", true, false, -1}, 1, 100);
  cut.Begin(5, 2);
  cut.Reply(0, Reply(5, 10, 10));
  cut.Reply(1, Reply(5, 9, 10));
  EXPECT_EQ(cut.Result(100)->half, BatchRanges(9, 10));
}

TEST(CutTest, TheErrorOfAPsIsTheCutsAndNamesIt) {
  Cut cut({"steps", true, false, -1}, 1, 100);
  cut.Begin(5, 1);
  proto::CutReply reply = Reply(5, 0, 0);
  reply.set_error("out of memory");
  cut.Reply(0, reply);
  const std::string message(cut.Result(100).status().message());
  EXPECT_NE(message.find("ps 0"), std::string::npos) << message;
  EXPECT_NE(message.find("out of memory"), std::string::npos) << message;
}

}  // namespace
}  // namespace cairn::coordinator
