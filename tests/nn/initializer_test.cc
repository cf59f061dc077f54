#include "nn/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cairn::nn {
namespace {

using Kind = InitializerSpec::Kind;
using Fan = InitializerSpec::Fan;
using Distribution = InitializerSpec::Distribution;

std::vector<float> Fill(const VariableSpec& variable, uint64_t seed = 1) {
  std::vector<float> values(variable.element_count());
  FillInitialValues(variable, seed, 0, variable.element_count(), values.data());
  return values;
}

VariableSpec Variable(InitializerSpec initializer, std::vector<int64_t> shape = {300, 200}) {
  return {.name = "dense/kernel", .shape = std::move(shape), .initializer = initializer};
}

double Mean(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += value;
  return sum / values.size();
}

double Stddev(const std::vector<float>& values) {
  const double mean = Mean(values);
  double sum = 0;
  for (float value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / values.size());
}

float Largest(const std::vector<float>& values) {
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

std::vector<InitializerSpec> EveryKind() {
  return {
      {.kind = Kind::kConstant, .value = 0.5},
      {.kind = Kind::kUniform, .minimum = -1, .maximum = 2},
      {.kind = Kind::kNormal, .mean = 1, .stddev = 2},
      {.kind = Kind::kTruncatedNormal, .stddev = 2},
      {.kind = Kind::kVarianceScaling, .value = 2, .fan = Fan::kOut},
      {.kind = Kind::kOrthogonal, .value = 1},
      {.kind = Kind::kIdentity, .value = 3},
  };
}

TEST(InitializerTest, AnySliceEqualsThatPartOfTheWhole) {
  for (const InitializerSpec& spec : EveryKind()) {
    const VariableSpec variable = Variable(spec, {13, 17});
    const std::vector<float> whole = Fill(variable);
    for (int64_t begin : {0, 1, 16, 100, 221}) {
      for (int64_t end : {begin, begin + 1, int64_t{221}}) {
        if (end > 221) continue;
        std::vector<float> part(end - begin);
        FillInitialValues(variable, 1, begin, end, part.data());
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + begin));
      }
    }
  }
}

TEST(InitializerTest, AnotherSeedOrNameGivesOtherDraws) {
  VariableSpec variable = Variable({.kind = Kind::kNormal, .stddev = 1}, {50});
  const std::vector<float> first = Fill(variable, 1);
  EXPECT_NE(first, Fill(variable, 2));
  variable.name = "dense_1/kernel";
  EXPECT_NE(first, Fill(variable, 1));
}

TEST(InitializerTest, UniformFillsItsRangeEvenly) {
  const auto values = Fill(Variable({.kind = Kind::kUniform, .minimum = -1, .maximum = 3}));
  EXPECT_NEAR(Mean(values), 1, 0.02);
  EXPECT_NEAR(Stddev(values), 4 / std::sqrt(12.0), 0.02);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 3);
}

TEST(InitializerTest, NormalHasItsMoments) {
  const auto values = Fill(Variable({.kind = Kind::kNormal, .mean = 1, .stddev = 2}));
  EXPECT_NEAR(Mean(values), 1, 0.03);
  EXPECT_NEAR(Stddev(values), 2, 0.03);
  EXPECT_GT(Largest(values), 6);  // Of 60,000 draws some are beyond three standard deviations.
}

TEST(InitializerTest, TruncatedNormalEndsAtTwoStandardDeviations) {
  const auto values = Fill(Variable({.kind = Kind::kTruncatedNormal, .stddev = 1}));
  EXPECT_LE(Largest(values), 2);
  EXPECT_GT(Largest(values), 1.99);
  EXPECT_NEAR(Stddev(values), 0.8796, 0.01);
}

TEST(InitializerTest, GlorotUniformHasTheLimitOfItsFans) {
  const InitializerSpec glorot = {.kind = Kind::kVarianceScaling,
                                  .value = 1,
                                  .fan = Fan::kAverage,
                                  .distribution = Distribution::kUniform};
  const double limit = std::sqrt(6.0 / 500);
  const auto values = Fill(Variable(glorot));
  EXPECT_LE(Largest(values), limit);
  EXPECT_GT(Largest(values), limit * 0.999);
}

TEST(InitializerTest, AKernelsReceptiveFieldCountsInItsFans) {
  InitializerSpec he = {.kind = Kind::kVarianceScaling, .value = 2, .fan = Fan::kIn};
  EXPECT_NEAR(Stddev(Fill(Variable(he, {3, 3, 16, 64}))), std::sqrt(2.0 / (9 * 16)), 0.002);
  he.fan = Fan::kOut;
  EXPECT_NEAR(Stddev(Fill(Variable(he, {3, 3, 16, 64}))), std::sqrt(2.0 / (9 * 64)), 0.001);
}

TEST(InitializerTest, UntruncatedVarianceScalingGoesBeyondTwoStandardDeviations) {
  const auto values = Fill(Variable({.kind = Kind::kVarianceScaling,
                                     .value = 300,
                                     .fan = Fan::kIn,
                                     .distribution = Distribution::kNormal}));
  EXPECT_NEAR(Stddev(values), 1, 0.01);
  EXPECT_GT(Largest(values), 3);
}

TEST(InitializerTest, OrthogonalKernelsHaveOrthogonalColumnsOfLengthGain) {
  const auto values = Fill(Variable({.kind = Kind::kOrthogonal, .value = 2}, {2, 5, 6}));
  for (int a = 0; a < 6; ++a) {
    for (int b = 0; b < 6; ++b) {
      double dot = 0;
      for (int row = 0; row < 10; ++row) dot += values[row * 6 + a] * values[row * 6 + b];
      EXPECT_NEAR(dot, a == b ? 4 : 0, 1e-5);
    }
  }
}

TEST(InitializerTest, IdentityMayBeRectangular) {
  const auto values = Fill(Variable({.kind = Kind::kIdentity, .value = 3}, {2, 3}));
  EXPECT_EQ(values, (std::vector<float>{3, 0, 0, 0, 3, 0}));
}

TEST(InitializerTest, RefusesShapesThatItsKindIsNotFor) {
  const InitializerSpec identity = {.kind = Kind::kIdentity};
  const InitializerSpec orthogonal = {.kind = Kind::kOrthogonal};
  EXPECT_TRUE(CheckInitializer(Variable(identity, {4, 4})).ok());
  EXPECT_FALSE(CheckInitializer(Variable(identity, {4})).ok());
  EXPECT_FALSE(CheckInitializer(Variable(identity, {3, 3, 4, 4})).ok());
  EXPECT_TRUE(CheckInitializer(Variable(orthogonal, {3, 3, 4, 4})).ok());
  EXPECT_FALSE(CheckInitializer(Variable(orthogonal, {4})).ok());
  EXPECT_FALSE(CheckInitializer(Variable(orthogonal, {5000, 5000})).ok());
}

}  // namespace
}  // namespace cairn::nn
