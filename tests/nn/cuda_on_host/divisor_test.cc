#include "nn/cuda/divisor.h"

#include <cstdint>
#include <limits>

#include "common/random.h"
#include "gtest/gtest.h"

namespace cairn::nn::cuda {
namespace {

void ExpectDivision(int64_t dividend, int64_t value) {
  const Divisor divisor = value;
  ASSERT_EQ(dividend / divisor, dividend / value) << dividend << " / " << value;
  ASSERT_EQ(dividend % divisor, dividend % value) << dividend << " % " << value;
}

TEST(DivisorTest, SmallNumbers) {
  for (int64_t value = 1; value < 300; ++value) {
    for (int64_t dividend = 0; dividend < 1000; ++dividend) ExpectDivision(dividend, value);
  }
}

// Multiples and their neighbors are where a quotient that is rounded wrongly is seen.
TEST(DivisorTest, NumbersOfAllSizes) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  const auto draw = [](uint64_t i) {
    return static_cast<int64_t>(RandomBits(1, i) >> (1 + RandomBelow(2, i, 63)));
  };
  for (uint64_t i = 0; i < 300'000; ++i) {
    const int64_t value = draw(2 * i) + (draw(2 * i) == 0);
    const int64_t dividend = draw(2 * i + 1);
    const int64_t multiple = dividend / value * value;
    ExpectDivision(dividend, value);
    ExpectDivision(multiple, value);
    if (multiple > 0) ExpectDivision(multiple - 1, value);
    ExpectDivision(kLargest, value);
    ExpectDivision(kLargest / value * value - 1, value);
  }
}

TEST(DivisorTest, ItConvertsToItsNumber) {
  EXPECT_EQ(Divisor(7) * 6, 42);
  EXPECT_EQ(int64_t{5} / Divisor(), 5);
}

}  // namespace
}  // namespace cairn::nn::cuda
