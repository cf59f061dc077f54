#include "coordinator/training/precise_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace cairn::coordinator {
namespace {

TEST(PreciseSumTest, KeepsWhatADoubleLoses) {
  PreciseSum sum;
  for (const double term : {1e100, 1.0, -1e100}) sum.Add(term);
  EXPECT_EQ(sum.value(), 1.0);
}

// The terms are multiples of 2^-40 below 2^20, so a long double adds them without an error.
TEST(PreciseSumTest, IsTheRoundedSumInAnyOrder) {
  std::mt19937_64 random(1);
  std::vector<double> terms;
  long double exact = 0;
  for (int i = 0; i < 1000; ++i) {
    terms.push_back(std::ldexp(static_cast<double>(random() >> 14), -40) - (i % 3 == 0 ? 900 : 0));
    exact += terms.back();
  }
  for (int order = 0; order < 50; ++order) {
    std::shuffle(terms.begin(), terms.end(), random);
    PreciseSum sum;
    for (const double term : terms) sum.Add(term);
    ASSERT_EQ(sum.value(), static_cast<double>(exact));
  }
}

TEST(PreciseSumTest, InfinityStays) {
  PreciseSum sum;
  for (const double term : {1.0, std::numeric_limits<double>::infinity(), 2.0}) sum.Add(term);
  EXPECT_EQ(sum.value(), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace cairn::coordinator
