#include "nn/optimizers/square_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace cairn::nn {
namespace {

double SumOf(const std::vector<float>& values) {
  SquareSum sum;
  sum.Add(values);
  return sum.value();
}

uint64_t BitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

TEST(SquareSumTest, SumsOfWholeNumbersAreExactForEverySize) {
  for (int size : {0, 1, 3, 4, 5, 1000, 65535, 65536, 65537, 200000}) {
    std::vector<float> values;
    int64_t expected = 0;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t value = i % 3001 - 1500;
      values.push_back(static_cast<float>(value));
      expected += value * value;
    }
    EXPECT_EQ(SumOf(values), static_cast<double>(expected)) << size;
  }
}

TEST(SquareSumTest, BitsDependNeitherOnTheOrderNorOnTheParts) {
  std::mt19937 random(2);
  std::vector<float> values(5000);
  for (float& value : values) {
    value = std::ldexp(static_cast<float>(random()), -32 - static_cast<int>(random() % 40));
  }
  const double expected = SumOf(values);
  for (int trial = 0; trial < 20; ++trial) {
    std::shuffle(values.begin(), values.end(), random);
    SquareSum sum;
    for (size_t begin = 0; begin < values.size();) {
      const size_t count = std::min<size_t>(1 + random() % 900, values.size() - begin);
      SquareSum part;
      part.Add(absl::MakeConstSpan(values).subspan(begin, count));
      sum.Add(part);
      begin += count;
    }
    EXPECT_EQ(BitsOf(sum.value()), BitsOf(expected));
  }
}

TEST(SquareSumTest, SmallTermsAreExactBesideLargeOnes) {
  std::vector<float> values(1 << 17, 0x1p-34f);
  values.insert(values.begin() + 1000, 1);
  EXPECT_EQ(SumOf(values), 1 + 0x1p-51);
}

TEST(SquareSumTest, AgreesWithDoublesOnRandomValues) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int size : {7, 100, 70000}) {
    std::vector<float> values(size);
    long double expected = 0;
    for (float& value : values) {
      value = normal(random);
      expected += static_cast<long double>(value) * value;
    }
    EXPECT_NEAR(SumOf(values), static_cast<double>(expected),
                1e-14 * static_cast<double>(expected));
  }
}

TEST(SquareSumTest, TheLargestAndTheSmallestFloatsFit) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kMin = std::numeric_limits<float>::denorm_min();
  constexpr float kMinNormal = std::numeric_limits<float>::min();
  EXPECT_EQ(SumOf({kMin}), 0x1p-298);
  EXPECT_EQ(SumOf({kMin * 3, -kMin}), 10 * 0x1p-298);
  EXPECT_EQ(SumOf({kMinNormal}), 0x1p-252);
  EXPECT_EQ(SumOf(std::vector<float>(4096, kMax)), 4096 * static_cast<double>(kMax) * kMax);
  EXPECT_EQ(SumOf({0.0f, -0.0f}), 0);
}

TEST(SquareSumTest, ANonFiniteTermMakesTheSumNonFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    SquareSum sum;
    sum.Add(std::vector<float>{1, bad, 2});
    EXPECT_FALSE(sum.finite());
    SquareSum all;
    all.Add(std::vector<float>{1});
    all.Add(sum);
    EXPECT_TRUE(std::isinf(all.value()));
  }
}

TEST(SquareSumTest, TravelsAsWords) {
  for (const std::vector<float>& values :
       {std::vector<float>{}, {1.5f, -3}, {1e30f, 1e-30f}, {std::nanf("")}}) {
    SquareSum sum;
    sum.Add(values);
    const SquareSum copy = SquareSum::FromWords(sum.words(), sum.finite()).value();
    EXPECT_EQ(copy.value(), sum.value());
    EXPECT_EQ(copy.finite(), sum.finite());
  }
  EXPECT_TRUE(SquareSum().words().empty());
  EXPECT_FALSE(SquareSum::FromWords(std::vector<uint64_t>(11, 1), true).ok());
}

}  // namespace
}  // namespace cairn::nn
