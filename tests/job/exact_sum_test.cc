#include "job/exact_sum.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::job {
namespace {

using Rational = boost::multiprecision::cpp_rational;

ExactSum SumOf(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.Add(value);
  return sum;
}

std::string Text(const ExactSum& sum) { return sum.ToProto().ShortDebugString(); }

// Of any size and sign.
std::vector<double> AnyNumbers(int count, int exponents, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    const double fraction = std::uniform_real_distribution<double>(-1, 1)(random);
    const int exponent = static_cast<int>(random() % (2 * exponents)) - exponents;
    values.push_back(std::ldexp(fraction, exponent));
  }
  return values;
}

// Fractions of whole numbers have no rounding either.
Rational Exact(const std::vector<double>& values) {
  Rational sum = 0;
  for (const double value : values) sum += Rational(value);
  return sum;
}

TEST(ExactSumTest, SmallNumbersAreNotLostBesideLargeOnes) {
  EXPECT_EQ(SumOf({1e300, 1, -1e300}).Mean(1), 1);
  EXPECT_EQ(SumOf({1e300, 5e-324, -1e300}).Mean(1), 5e-324);
  EXPECT_EQ(SumOf({}).Mean(7), 0);
  EXPECT_EQ(SumOf({0.0, -0.0}).Mean(2), 0);
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(SumOf({most, most, most}).Mean(3), most);
  EXPECT_EQ(SumOf({-most, -most, 1}).Mean(2), -most);
}

TEST(ExactSumTest, TheMeanIsThatOfFractions) {
  for (const int exponents : {1, 40, 300, 1000}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<double> values = AnyNumbers(200, exponents, seed);
      const double expected = (Exact(values) / 200).convert_to<double>();
      const double mean = SumOf(values).Mean(200);
      // The neighbors of a double are a factor of 1 + 2^-52 apart.
      EXPECT_LE(std::abs(mean - expected), std::abs(expected) * std::ldexp(1, -52)) << exponents;
    }
  }
}

TEST(ExactSumTest, NeitherTheOrderNorTheDivisionMatters) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> values = AnyNumbers(300, 1000, seed);
    const std::string expected = Text(SumOf(values));
    std::shuffle(values.begin(), values.end(), std::mt19937_64(seed));
    EXPECT_EQ(Text(SumOf(values)), expected);
    ExactSum all;
    for (size_t begin = 0; begin < values.size(); begin += 1 + seed) {
      const size_t end = std::min(values.size(), begin + 1 + seed);
      const ExactSum part = SumOf({values.begin() + begin, values.begin() + end});
      all.Add(*ExactSum::Create(part.ToProto()));
    }
    EXPECT_EQ(Text(all), expected);
    // What is taken away again leaves nothing.
    for (const double value : values) all.Add(-value);
    EXPECT_EQ(Text(all), "");
  }
}

TEST(ExactSumTest, ManyNumbersDoNotOverflowADigit) {
  ExactSum sum;
  sum.Add(std::ldexp(1, 31));
  // Doubled 60 times.
  for (int i = 0; i < 60; ++i) sum.Add(ExactSum(sum));
  EXPECT_EQ(sum.Mean(1), std::ldexp(1, 91));
  for (int i = 0; i < 100000; ++i) sum.Add(-std::ldexp(1, 31) - 1);
  EXPECT_EQ(sum.Mean(1), std::ldexp(1, 91) - 100000 * (std::ldexp(1, 31) + 1));
}

// More than are added to the digits before what exceeds them is carried.
TEST(ExactSumTest, MillionsOfNumbersThatAreFarLargerThanTheFirst) {
  constexpr int64_t kNumbers = 3 << 20;
  const double value = std::ldexp(1, 60) + 256;
  ExactSum sum;
  sum.Add(1);
  for (int64_t i = 0; i < kNumbers; ++i) sum.Add(-value);
  EXPECT_EQ(sum.Mean(kNumbers), -value);
  for (int64_t i = 0; i < kNumbers; ++i) sum.Add(value);
  EXPECT_EQ(Text(sum), Text(SumOf({1})));
}

// More than are added near the size of the first one before they become digits.
TEST(ExactSumTest, MillionsOfNumbersOfOneSize) {
  constexpr int64_t kNumbers = 5'000'000;
  ExactSum sum;
  for (int64_t i = 0; i < kNumbers; ++i) sum.Add(-0.1);
  EXPECT_EQ(sum.Mean(kNumbers), -0.1);
  for (int64_t i = 0; i < kNumbers; ++i) sum.Add(0.1);
  EXPECT_EQ(Text(sum), "");
}

// (count squares - sum^2), whose terms have nearly all digits in common.
TEST(ExactSumTest, TheDeviationIsThatOfFractions) {
  for (const double offset : {0.0, 1.0, 1e6, -1e12}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      std::vector<double> values = AnyNumbers(100, 3, seed);
      for (double& value : values) value = static_cast<float>(value + offset);
      std::vector<double> squares;
      for (const double value : values) squares.push_back(value * value);
      const Rational sum = Exact(values);
      Rational variance = 0;
      for (const double value : values) {
        const Rational distance = Rational(value) - sum / 100;
        variance += distance * distance / 100;
      }
      const double expected = std::sqrt(variance.convert_to<double>());
      EXPECT_NEAR(SumOf(values).Deviation(SumOf(squares), 100), expected, expected * 1e-15);
    }
  }
  EXPECT_EQ(SumOf({2, 2}).Deviation(SumOf({1, 1}), 2), 0) << "no numbers have these sums";
}

TEST(ExactSumTest, WhatIsNoSumIsRefused) {
  proto::ExactSum sum = SumOf({1}).ToProto();
  EXPECT_TRUE(ExactSum::Create(sum).ok());
  sum.set_first(-35);
  EXPECT_FALSE(ExactSum::Create(sum).ok());
  sum.set_first(36);
  EXPECT_FALSE(ExactSum::Create(sum).ok());
  sum.set_first(0);
  sum.set_digits(0, int64_t{1} << 32);
  EXPECT_FALSE(ExactSum::Create(sum).ok());
  sum.set_digits(0, std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(ExactSum::Create(sum).ok());
  sum.clear_digits();
  for (int i = 0; i < 1000; ++i) sum.add_digits(1);
  EXPECT_FALSE(ExactSum::Create(sum).ok());
}

}  // namespace
}  // namespace cairn::job
