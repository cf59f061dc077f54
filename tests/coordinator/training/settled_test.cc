#include "coordinator/training/settled.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::coordinator {
namespace {

proto::LedgerState State(int64_t low_water, const std::string& above = "") {
  proto::LedgerState state;
  state.set_low_water(low_water);
  state.set_above(above);
  return state;
}

proto::LedgerReply Reply(const proto::LedgerState& everywhere,
                         const proto::LedgerState& somewhere) {
  proto::LedgerReply reply;
  reply.set_blocks(3);
  *reply.mutable_everywhere() = everywhere;
  *reply.mutable_somewhere() = somewhere;
  return reply;
}

TEST(SettledTest, BatchesWithoutABitAreOpen) {
  // Mark 4, bits 1 and 9: batches 5 and 13 are applied.
  const auto open = OpenBatches(State(4, std::string("\x02\x02", 2)), 20);
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->ranges(), (BatchRanges::Map{{4, 5}, {6, 13}, {14, 20}}));
}

TEST(SettledTest, MakingALedgerIsTheInverse) {
  BatchRanges open(4, 20);
  open.Remove(5, 6);
  open.Remove(13, 14);
  open.Remove(19, 20);
  const proto::LedgerState state = MakeLedgerState(open, 20);
  EXPECT_EQ(state.low_water(), 4);
  EXPECT_EQ(*OpenBatches(state, 20), open);
  EXPECT_EQ(MakeLedgerState(BatchRanges(), 20).low_water(), 20);
  EXPECT_EQ(MakeLedgerState(BatchRanges(7, 1000000000), 1000000000).above(), "");
}

TEST(SettledTest, ABatchMissingOnOnePsIsOpenAndHalfApplied) {
  const std::vector<proto::LedgerReply> ledgers = {Reply(State(5), State(5)),
                                                   Reply(State(3), State(4))};
  const auto settled = CombineLedgers(ledgers, 10);
  ASSERT_TRUE(settled.ok());
  EXPECT_EQ(settled->open.ranges(), (BatchRanges::Map{{3, 10}}));
  EXPECT_EQ(settled->half.ranges(), (BatchRanges::Map{{3, 5}}));
}

TEST(SettledTest, APsWithoutPushedBlocksIsIgnored) {
  proto::LedgerReply none;
  const auto settled =
      CombineLedgers(std::vector<proto::LedgerReply>{none, Reply(State(8), State(8))}, 8);
  ASSERT_TRUE(settled.ok());
  EXPECT_TRUE(settled->open.empty());
  EXPECT_EQ(CombineLedgers(std::vector<proto::LedgerReply>{none}, 8)->open.size(), 8);
}

TEST(SettledTest, InvalidLedgersAreRejected) {
  EXPECT_EQ(OpenBatches(State(-1), 8).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(OpenBatches(State(9), 8).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(OpenBatches(State(4, "\x10"), 8).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cairn::coordinator
