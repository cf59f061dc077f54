#include "parameters/blocks/gradient_accumulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace cairn::parameters {
namespace {

constexpr int64_t kCount = 37;

struct Contribution {
  int64_t examples = 1;
  std::vector<float> gradient;  // Empty: none.
};

std::vector<Contribution> RandomContributions(size_t batches, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Contribution> contributions(batches);
  for (Contribution& contribution : contributions) {
    contribution.examples = 1 + static_cast<int64_t>(random() % 128);
    contribution.gradient.resize(kCount);
    for (float& value : contribution.gradient) value = normal(random);
  }
  return contributions;
}

class GradientAccumulatorTest : public ::testing::Test {
 protected:
  BlockBuffer Buffer(const std::vector<float>& values) {
    if (values.empty()) return BlockBuffer();
    BlockBuffer buffer = pool_.Allocate(static_cast<int64_t>(values.size()));
    std::copy(values.begin(), values.end(), buffer.data());
    return buffer;
  }

  // The mean when the contributions come in this order; empty if there is none.
  std::vector<float> Mean(const std::vector<Contribution>& contributions,
                          const std::vector<size_t>& order,
                          GradientAccumulator::Absent absent = GradientAccumulator::Absent::kZero) {
    GradientAccumulator accumulator(absent);
    accumulator.Start(static_cast<int64_t>(contributions.size()));
    for (const size_t i : order) {
      EXPECT_FALSE(accumulator.complete());
      EXPECT_FALSE(accumulator.Has(static_cast<int64_t>(i)));
      EXPECT_TRUE(accumulator.TryAdd(static_cast<int64_t>(i), contributions[i].examples,
                                     Buffer(contributions[i].gradient)));
      EXPECT_TRUE(accumulator.Has(static_cast<int64_t>(i)));
    }
    EXPECT_TRUE(accumulator.complete());
    const BlockBuffer mean = accumulator.TakeMean();
    if (!mean) return {};
    return std::vector<float>(mean.data(), mean.data() + mean.count());
  }

  BufferPool pool_;
};

std::vector<size_t> Ascending(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST_F(GradientAccumulatorTest, TheMeanIsThatOfOneLargeBatch) {
  const auto contributions = RandomContributions(6, 1);
  const std::vector<float> mean = Mean(contributions, Ascending(6));
  for (int64_t i = 0; i < kCount; ++i) {
    double sum = 0, examples = 0;
    for (const Contribution& c : contributions) {
      sum += static_cast<double>(c.examples) * c.gradient[i];
      examples += static_cast<double>(c.examples);
    }
    EXPECT_NEAR(mean[i], sum / examples, 1e-5);
  }
}

TEST_F(GradientAccumulatorTest, TheBitsDoNotDependOnTheOrderOfArrival) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const auto contributions = RandomContributions(1 + seed % 9, seed);
    std::vector<size_t> order = Ascending(contributions.size());
    const std::vector<float> expected = Mean(contributions, order);
    std::mt19937 random(seed);
    for (int i = 0; i < 20; ++i) {
      std::shuffle(order.begin(), order.end(), random);
      const std::vector<float> mean = Mean(contributions, order);
      ASSERT_EQ(std::memcmp(mean.data(), expected.data(), kCount * sizeof(float)), 0);
    }
  }
}

TEST_F(GradientAccumulatorTest, TheMeanOfASingleBatchIsItsGradientExactly) {
  auto contributions = RandomContributions(1, 3);
  contributions[0].examples = 97;
  EXPECT_EQ(Mean(contributions, {0}), contributions[0].gradient);
}

TEST_F(GradientAccumulatorTest, ABatchWithoutAGradientCountsAsZeroOrNotAtAll) {
  std::vector<Contribution> contributions = {{3, {}}, {1, {8.0f, -4.0f}}};
  EXPECT_EQ(Mean(contributions, {1, 0}), (std::vector<float>{2.0f, -1.0f}));
  EXPECT_EQ(Mean(contributions, {0, 1}, GradientAccumulator::Absent::kNothing),
            (std::vector<float>{8.0f, -4.0f}));
  contributions[1].gradient.clear();
  EXPECT_TRUE(Mean(contributions, {0, 1}).empty());
}

TEST_F(GradientAccumulatorTest, ABatchWithoutExamplesIsExcludedFromTheMean) {
  const std::vector<Contribution> all = {{3, {1, 2}}, {0, {}}, {5, {4, 8}}};
  const std::vector<Contribution> others = {{3, {1, 2}}, {5, {4, 8}}};
  EXPECT_EQ(Mean(all, {2, 1, 0}), Mean(others, {0, 1}));
  const std::vector<Contribution> one = {{0, {}}, {7, {0.1f, 0.3f}}};
  EXPECT_EQ(Mean(one, {0, 1}), one[1].gradient) << "exactly";
  EXPECT_TRUE(Mean({{0, {}}, {0, {}}}, {1, 0}).empty());
}

TEST_F(GradientAccumulatorTest, StartsAfreshForEachUpdate) {
  GradientAccumulator accumulator(GradientAccumulator::Absent::kZero);
  accumulator.Start(2);
  EXPECT_TRUE(accumulator.TryAdd(1, 5, Buffer({1.0f})));
  accumulator.Start(1);
  EXPECT_FALSE(accumulator.Has(0));
  EXPECT_TRUE(accumulator.TryAdd(0, 5, Buffer({2.0f})));
  EXPECT_EQ(accumulator.TakeMean().data()[0], 2.0f);
}

// With room for one gradient that waits, batches arrive in the worst order, the highest first, and
// those that are refused come again: the mean has the same bits, and the budget holds at all times.
TEST_F(GradientAccumulatorTest, AnUpdateCompletesWithinAnyBudget) {
  constexpr int64_t kGradientBytes = kCount * static_cast<int64_t>(sizeof(float));
  for (const size_t batches : {1, 2, 9, 50}) {
    const auto contributions = RandomContributions(batches, 7);
    const std::vector<float> expected = Mean(contributions, Ascending(batches));
    for (const int64_t budget_bytes : {int64_t{0}, kGradientBytes, 3 * kGradientBytes}) {
      GradientBudget budget(budget_bytes);
      GradientAccumulator accumulator(GradientAccumulator::Absent::kZero, &budget);
      accumulator.Start(static_cast<int64_t>(batches));
      while (!accumulator.complete()) {
        const int64_t before = accumulator.next();
        for (auto i = static_cast<int64_t>(batches) - 1; i >= 0; --i) {
          if (accumulator.Has(i)) continue;
          const bool may_wait = budget.bytes() + kGradientBytes <= budget_bytes;
          const bool taken =
              accumulator.TryAdd(i, contributions[i].examples, Buffer(contributions[i].gradient));
          EXPECT_EQ(taken, may_wait || i == before);
          EXPECT_LE(budget.bytes(), budget_bytes);
        }
        ASSERT_GT(accumulator.next(), before);
      }
      EXPECT_EQ(budget.bytes(), 0);
      const BlockBuffer mean = accumulator.TakeMean();
      ASSERT_EQ(std::memcmp(mean.data(), expected.data(), kCount * sizeof(float)), 0);
    }
  }
}

TEST_F(GradientAccumulatorTest, AnUpdateThatIsDroppedGivesItsBudgetBack) {
  GradientBudget budget(1000);
  {
    GradientAccumulator accumulator(GradientAccumulator::Absent::kZero, &budget);
    accumulator.Start(3);
    EXPECT_TRUE(accumulator.TryAdd(1, 5, Buffer({1.0f})));
    EXPECT_EQ(budget.bytes(), 4);
    accumulator.Start(3);
    EXPECT_EQ(budget.bytes(), 0);
    EXPECT_TRUE(accumulator.TryAdd(2, 5, Buffer({1.0f})));
  }
  EXPECT_EQ(budget.bytes(), 0);
}

}  // namespace
}  // namespace cairn::parameters
