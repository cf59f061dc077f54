#include "coordinator/training/applied_batches.h"

#include <gtest/gtest.h>

#include <random>
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

proto::LedgerReply Reply(const proto::LedgerState& applied_on_all,
                         const proto::LedgerState& applied_on_any) {
  proto::LedgerReply reply;
  reply.set_blocks(3);
  *reply.mutable_applied_on_all() = applied_on_all;
  *reply.mutable_applied_on_any() = applied_on_any;
  return reply;
}

TEST(AppliedBatchesTest, BatchesWithoutABitAreOpen) {
  // Mark 4, bits 1 and 9: batches 5 and 13 are applied.
  const auto open = OpenBatches(State(4, std::string("\x02\x02", 2)), 20);
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->ranges(), (BatchRanges::Map{{4, 5}, {6, 13}, {14, 20}}));
}

TEST(AppliedBatchesTest, MakingALedgerIsTheInverse) {
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

TEST(AppliedBatchesTest, ABatchMissingOnOnePsIsOpenAndHalfApplied) {
  const std::vector<proto::LedgerReply> ledgers = {Reply(State(5), State(5)),
                                                   Reply(State(3), State(4))};
  const auto applied = CombineLedgers(ledgers, 10);
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied->open.ranges(), (BatchRanges::Map{{3, 10}}));
  EXPECT_EQ(applied->half.ranges(), (BatchRanges::Map{{3, 5}}));
}

// The bitmaps begin and end at different places, and are longer than a word.
TEST(AppliedBatchesTest, LedgersAreCombinedAsTheSetsThatTheyAre) {
  constexpr int64_t kTotal = 600;
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<proto::LedgerReply> ledgers;
    BatchRanges open, untouched(0, kTotal);
    for (int ps = 0; ps < 5; ++ps) {
      BatchRanges lacking(static_cast<int64_t>(random() % 300), kTotal);
      for (int i = 0; i < 200; ++i) {
        const auto batch = static_cast<int64_t>(random() % (300 + 60 * ps));
        lacking.Remove(batch, batch + 1);
      }
      // Some blocks have more.
      BatchRanges never = lacking;
      for (int i = 0; i < 20; ++i) {
        const auto batch = static_cast<int64_t>(random() % kTotal);
        never.Remove(batch, batch + 1);
      }
      ledgers.push_back(Reply(MakeLedgerState(lacking, kTotal), MakeLedgerState(never, kTotal)));
      open.Add(lacking);
      untouched = untouched.Intersection(never);
    }
    const auto applied = CombineLedgers(ledgers, kTotal);
    ASSERT_TRUE(applied.ok());
    EXPECT_EQ(applied->open, open);
    BatchRanges half = open;
    half.Remove(untouched);
    EXPECT_EQ(applied->half, half);
  }
}

TEST(AppliedBatchesTest, APsWithoutPushedBlocksIsIgnored) {
  proto::LedgerReply none;
  const auto applied =
      CombineLedgers(std::vector<proto::LedgerReply>{none, Reply(State(8), State(8))}, 8);
  ASSERT_TRUE(applied.ok());
  EXPECT_TRUE(applied->open.empty());
  EXPECT_EQ(CombineLedgers(std::vector<proto::LedgerReply>{none}, 8)->open.size(), 8);
}

TEST(AppliedBatchesTest, InvalidLedgersAreRejected) {
  EXPECT_EQ(OpenBatches(State(-1), 8).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(OpenBatches(State(9), 8).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(OpenBatches(State(4, "\x10"), 8).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cairn::coordinator
