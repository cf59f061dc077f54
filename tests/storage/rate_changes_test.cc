#include "storage/rate_changes.h"

#include <gtest/gtest.h>

namespace cairn::storage {
namespace {

proto::RateChange Change(int64_t from_batch, double rate) {
  proto::RateChange change;
  change.set_from_batch(from_batch);
  change.set_learning_rate(rate);
  return change;
}

TEST(RateChangesTest, WithoutChangesTheOptimizersRateHolds) {
  EXPECT_FALSE(RateChanges().At(0).has_value());
  EXPECT_EQ(RateChanges().count(), 0);
}

TEST(RateChangesTest, EachHoldsFromItsBatchOn) {
  google::protobuf::RepeatedPtrField<proto::RateChange> changes;
  *changes.Add() = Change(3, 0.5);
  *changes.Add() = Change(7, 0.3);
  *changes.Add() = Change(7, 0.2);
  const RateChanges rates(changes);
  EXPECT_FALSE(rates.At(2).has_value());
  EXPECT_EQ(rates.At(3), 0.5f);
  EXPECT_EQ(rates.At(6), 0.5f);
  EXPECT_EQ(rates.At(7), 0.2f);
  EXPECT_EQ(rates.At(int64_t{1} << 40), 0.2f);
  EXPECT_EQ(rates.count(), 3);
}

TEST(RateChangesTest, AWarmUpGrowsAfterEachUpdate) {
  google::protobuf::RepeatedPtrField<proto::RateChange> changes;
  *changes.Add() = Change(10, 1);
  changes.Mutable(0)->set_increment(0.25);
  changes.Mutable(0)->set_increment_batches(3);
  const RateChanges rates(changes);
  EXPECT_EQ(rates.At(10), 1);
  EXPECT_EQ(rates.At(12), 1);
  EXPECT_EQ(rates.At(13), 1.25f);
  EXPECT_EQ(rates.At(16), 1.5f);
}

}  // namespace
}  // namespace cairn::storage
