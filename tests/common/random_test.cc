#include "common/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace cairn {
namespace {

TEST(RandomTest, AStreamOfKeyZeroIsSplitMix64) {
  // The first outputs of the reference implementation with seed 0.
  EXPECT_EQ(RandomBits(0, 0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(RandomBits(0, 1), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(RandomBits(0, 2), 0x06c45d188009454fu);
}

TEST(RandomTest, KeysOfParentsChildrenAndNamesDiffer) {
  std::set<uint64_t> keys;
  for (uint64_t parent = 0; parent < 100; ++parent) {
    for (uint64_t child = 0; child < 100; ++child) keys.insert(DeriveKey(parent, child));
    keys.insert(DeriveKey(parent, "dense/kernel"));
    keys.insert(DeriveKey(parent, "dense/bias"));
  }
  EXPECT_EQ(keys.size(), 100u * 102u);
}

TEST(RandomTest, UniformDrawsFillTheHalfOpenUnitInterval) {
  constexpr int kDraws = 100'000;
  double sum = 0, sum_of_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const float draw = RandomUniform(7, i);
    ASSERT_GE(draw, 0.0f);
    ASSERT_LT(draw, 1.0f);
    sum += draw;
    sum_of_squares += draw * draw;
  }
  // Five standard deviations of the mean and of the mean square.
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(sum_of_squares / kDraws, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kDraws));
}

TEST(RandomTest, DrawsBelowABoundAreEvenlySpread) {
  constexpr int kDraws = 60'000;
  constexpr uint64_t kBound = 6;
  std::vector<int> counts(kBound);
  for (int i = 0; i < kDraws; ++i) ++counts.at(RandomBelow(3, i, kBound));
  double chi_square = 0;
  for (int count : counts) chi_square += std::pow(count - 10'000.0, 2) / 10'000.0;
  EXPECT_LT(chi_square, 25.7);  // p = 0.0001 at 5 degrees of freedom
  EXPECT_EQ(RandomBelow(3, 0, 1), 0u);
}

}  // namespace
}  // namespace cairn
