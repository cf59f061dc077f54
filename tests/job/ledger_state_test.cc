#include "job/ledger_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::job {
namespace {

std::vector<int64_t> AppliedAbove(const proto::LedgerState& state) {
  std::vector<int64_t> batches;
  ForEachAppliedAbove(state, [&](int64_t batch) { batches.push_back(batch); });
  return batches;
}

TEST(LedgerStateTest, WhatIsSetIsVisitedInAscendingOrder) {
  proto::LedgerState state;
  state.set_low_water(1000);
  for (const int64_t batch : {1031, 1001, 1008, 1007}) SetApplied(batch, &state);
  EXPECT_EQ(AppliedAbove(state), (std::vector<int64_t>{1001, 1007, 1008, 1031}));
  EXPECT_EQ(state.above(), std::string("\x82\x01\x00\x80", 4));
}

TEST(LedgerStateTest, AnEmptyBitmapHasNoBatches) {
  proto::LedgerState state;
  state.set_low_water(7);
  EXPECT_TRUE(AppliedAbove(state).empty());
}

}  // namespace
}  // namespace cairn::job
