#include "parameters/blocks/push_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "proto/job.pb.h"

namespace cairn::parameters {
namespace {

// A simple reference implementation.
struct Model {
  std::set<int64_t> applied;

  int64_t low_water() const {
    int64_t batch = 0;
    while (applied.contains(batch)) ++batch;
    return batch;
  }
};

proto::LedgerState State(int64_t low_water, const std::string& above) {
  proto::LedgerState state;
  state.set_low_water(low_water);
  state.set_above(above);
  return state;
}

PushLedger LedgerOf(const std::set<int64_t>& batches) {
  PushLedger ledger;
  for (const int64_t batch : batches) EXPECT_TRUE(*ledger.TestAndSet(batch));
  return ledger;
}

void ExpectSame(const PushLedger& ledger, const Model& model, int64_t end) {
  ASSERT_EQ(ledger.low_water(), model.low_water());
  for (int64_t batch = 0; batch < end; ++batch) {
    ASSERT_EQ(ledger.IsApplied(batch), model.applied.contains(batch)) << batch;
    ASSERT_EQ(ledger.AllBelowApplied(batch), batch <= model.low_water()) << batch;
  }
}

TEST(PushLedger, SetsEachBatchOnceInAnyOrder) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const int64_t end = 1 + static_cast<int64_t>(random() % 600);
    const int64_t reach = 1 + static_cast<int64_t>(random() % 300);
    PushLedger ledger;
    Model model;
    for (int i = 0; i < 2000; ++i) {
      const int64_t batch = std::min<int64_t>(end, std::max<int64_t>(0, ledger.low_water() - 5) +
                                                       static_cast<int64_t>(random() % reach));
      const auto is_new = ledger.TestAndSet(batch);
      ASSERT_TRUE(is_new.ok()) << is_new.status();
      ASSERT_EQ(*is_new, model.applied.insert(batch).second) << seed << " " << batch;
    }
    ExpectSame(ledger, model, end + reach + 10);
  }
}

TEST(PushLedger, AcceptsBatchesUpTo65535AboveTheLowWaterMark) {
  PushLedger ledger;
  for (int64_t batch = 0; batch < 1000; ++batch) ASSERT_TRUE(*ledger.TestAndSet(batch));
  EXPECT_TRUE(*ledger.TestAndSet(1000 + 65535));
  EXPECT_EQ(ledger.TestAndSet(1000 + 65536).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ledger.TestAndSet(std::numeric_limits<int64_t>::max()).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ledger.TestAndSet(-1).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ledger.low_water(), 1000);
  EXPECT_EQ(ledger.open_count(), 1);
  // In descending order, with the low-water mark last, which then advances over all of them.
  for (int64_t batch = 1000 + 65534; batch > 1000; --batch) ASSERT_TRUE(*ledger.TestAndSet(batch));
  EXPECT_EQ(ledger.low_water(), 1000);
  EXPECT_TRUE(*ledger.TestAndSet(1000));
  EXPECT_EQ(ledger.low_water(), 1000 + 65536);
  EXPECT_EQ(ledger.open_count(), 0);
}

TEST(PushLedger, RoundTripsThroughItsMessage) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    PushLedger ledger;
    for (int i = 0; i < 300; ++i) {
      (void)*ledger.TestAndSet(ledger.low_water() + static_cast<int64_t>(random() % 500));
    }
    const proto::LedgerState state = ledger.ToProto();
    const auto again = PushLedger::FromProto(state);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(*again == ledger);
    EXPECT_EQ(again->ToProto().SerializeAsString(), state.SerializeAsString());
    ExpectSame(*again, {[&] {
      std::set<int64_t> applied;
      for (int64_t b = 0; b < ledger.low_water() + 600; ++b) {
        if (ledger.IsApplied(b)) applied.insert(b);
      }
      return applied;
    }()},
               ledger.low_water() + 600);
  }
}

TEST(PushLedger, WritesBitsAsDocumentedInTheProtocol) {
  const proto::LedgerState state = LedgerOf({0, 1, 2, 4, 12}).ToProto();
  EXPECT_EQ(state.low_water(), 3);
  EXPECT_EQ(state.above(), std::string("\x02\x02"));  // 3 + 1 and 3 + 9.
  EXPECT_EQ(LedgerOf({0, 1, 2}).ToProto().above(), "");
}

TEST(PushLedger, RefusesInvalidMessages) {
  EXPECT_FALSE(PushLedger::FromProto(State(-1, "")).ok());
  EXPECT_FALSE(PushLedger::FromProto(State(std::numeric_limits<int64_t>::max(), "")).ok());
  EXPECT_FALSE(PushLedger::FromProto(State(7, "\x01")).ok());
  EXPECT_FALSE(PushLedger::FromProto(State(7, std::string(8193, '\0'))).ok());
  const auto largest = PushLedger::FromProto(State(7, "\xfe" + std::string(8191, '\xff')));
  ASSERT_TRUE(largest.ok());
  EXPECT_EQ(largest->open_count(), 65535);
  EXPECT_TRUE(PushLedger::FromProto(State(7, std::string(8192, '\0'))).ok());
}

// Ledgers without a bitmap, whose low-water marks are within a word.
TEST(PushLedger, LedgersOfBatchesInOrderAreCombined) {
  for (int64_t i : {0, 1, 5, 63, 64, 65, 130}) {
    for (int64_t j : {0, 1, 5, 63, 64, 65, 130}) {
      PushLedger a, b;
      for (int64_t batch = 0; batch < i; ++batch) ASSERT_TRUE(a.TestAndSet(batch).ok());
      for (int64_t batch = 0; batch < j; ++batch) ASSERT_TRUE(b.TestAndSet(batch).ok());
      EXPECT_EQ(PushLedger::Intersection(a, b).low_water(), std::min(i, j));
      EXPECT_EQ(PushLedger::Union(a, b).low_water(), std::max(i, j));
      EXPECT_EQ(a == b, i == j);
    }
  }
}

TEST(PushLedger, IntersectionAndUnionAreThoseOfTheSets) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::set<int64_t> a, b, both, either;
    // The low-water marks are not at the same place of a word.
    for (int64_t batch = 0; batch < 37 * seed; ++batch) a.insert(batch);
    for (int64_t batch = 0; batch < 29 * seed; ++batch) b.insert(batch);
    const int64_t base = 37 * seed;
    for (int i = 0; i < 150; ++i) {
      a.insert(base + static_cast<int64_t>(random() % (20 + 5 * (seed % 40))));
      b.insert(base + static_cast<int64_t>(random() % 200));
    }
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::inserter(either, either.end()));
    const PushLedger la = LedgerOf(a), lb = LedgerOf(b);
    EXPECT_TRUE(PushLedger::Intersection(la, lb) == LedgerOf(both)) << seed;
    EXPECT_TRUE(PushLedger::Intersection(lb, la) == LedgerOf(both)) << seed;
    EXPECT_TRUE(PushLedger::Union(la, lb) == LedgerOf(either)) << seed;
    EXPECT_TRUE(PushLedger::Union(lb, la) == LedgerOf(either)) << seed;
    EXPECT_EQ(la == lb, a == b);
    const PushLedger intersection = PushLedger::Intersection(la, lb);
    const PushLedger all = PushLedger::Union(la, lb);
    for (int64_t batch = 0; batch < base + 300; ++batch) {
      EXPECT_EQ(intersection.IsApplied(batch), both.contains(batch)) << batch;
      EXPECT_EQ(all.IsApplied(batch), either.contains(batch)) << batch;
    }
  }
}

}  // namespace
}  // namespace cairn::parameters
