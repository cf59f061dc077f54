#include "parameters/blocks/update_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/parameters/test_job.h"

namespace cairn::parameters {
namespace {

BlockState StateOf(const JobLayout& layout, int position, float value, BufferPool* pool) {
  const BlockSpec& block = layout.blocks()[position];
  BlockState state;
  state.values = Filled(pool, block.count, value);
  if (const int slots = layout.slot_count(block); slots > 0) {
    state.slots = Filled(pool, block.count * slots, 0);
  }
  return state;
}

TEST(UpdateRule, FollowsKerasAdamInPlaceAndWithReaders) {
  TestJobOptions options;
  options.optimizer = "adam";
  options.learning_rate = 0.1;
  const auto layout = MakeLayout(options);
  const int position = PositionOf(*layout, "hidden/bias");
  BufferPool pool;
  const UpdateRule rule(layout.get(), &pool);
  BlockState state = StateOf(*layout, position, 1, &pool);
  std::vector<BlockState> onlookers;
  double value = 1, m = 0, v = 0;
  for (int t = 1; t <= 6; ++t) {
    const double g = 0.5 * t;
    m += (g - m) * (1 - 0.9);
    v += (g * g - v) * (1 - 0.999);
    const double alpha = 0.1 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
    value -= alpha * m / (std::sqrt(v) + 1e-7);
    if (t % 2 == 0) onlookers.push_back(state);
    const BlockBuffer gradient = Filled(&pool, 6, static_cast<float>(g));
    ASSERT_TRUE(
        rule.Apply(layout->blocks()[position], gradient.data(), 1, std::nullopt, &state).ok());
    EXPECT_NEAR(state.values.data()[5], value, 1e-5);
    EXPECT_EQ(state.version, t);
  }
  for (size_t i = 0; i < onlookers.size(); ++i) {
    EXPECT_EQ(onlookers[i].version, static_cast<int64_t>(2 * i + 1));
    EXPECT_GT(onlookers[i].values.data()[0], state.values.data()[0]);
    EXPECT_LT(onlookers[i].slots.data()[0], state.slots.data()[0]);
  }
}

TEST(UpdateRule, AveragesMovingStatisticsInPlaceAndInNewBuffers) {
  const auto layout = MakeLayout({});
  const int position = PositionOf(*layout, "norm/moving_variance");
  BufferPool pool;
  const UpdateRule rule(layout.get(), &pool);
  BlockState state = StateOf(*layout, position, 1, &pool);
  const BlockBuffer statistic = Filled(&pool, 6, 3);
  ASSERT_TRUE(
      rule.Apply(layout->blocks()[position], statistic.data(), 1, std::nullopt, &state).ok());
  const BlockBuffer before = state.values;
  ASSERT_TRUE(
      rule.Apply(layout->blocks()[position], statistic.data(), 1, std::nullopt, &state).ok());
  EXPECT_EQ(before.data()[0], 2);
  EXPECT_EQ(state.values.data()[0], 2.5f);
}

TEST(UpdateRule, ConstrainsTheValuesThatTheOptimizerLeaves) {
  TestJobOptions options;
  options.ps_count = 2;
  options.kernel_constraint = R"({"class_name": "MaxNorm", "config": {"max_value": 3, "axis": 0}})";
  const auto layout = MakeLayout(options);
  const int kernel = PositionOf(*layout, "hidden/kernel");
  // All 4 rows are in one block, although there are 2 ps.
  ASSERT_EQ(layout->blocks()[kernel].count, 4 * 6);
  BufferPool pool;
  const UpdateRule rule(layout.get(), &pool);
  BlockState state = StateOf(*layout, kernel, 1, &pool);
  const BlockState before = state;
  const BlockBuffer gradient = Filled(&pool, 24, -2);
  ASSERT_TRUE(rule.Apply(layout->blocks()[kernel], gradient.data(), 1, {}, &state).ok());
  // 1 + 2 in each of 4 rows has the norm 6.
  for (const float value : Values(state.values)) EXPECT_NEAR(value, 1.5, 1e-6);
  EXPECT_EQ(before.values.data()[0], 1);
}

TEST(UpdateRule, ConstrainsTheRowsOfABlock) {
  TestJobOptions options;
  options.ps_count = 2;
  options.kernel_constraint = R"({"class_name": "UnitNorm", "config": {"axis": 1}})";
  const auto layout = MakeLayout(options);
  const int kernel = PositionOf(*layout, "hidden/kernel");
  ASSERT_EQ(layout->blocks()[kernel].count, 2 * 6);
  BufferPool pool;
  const UpdateRule rule(layout.get(), &pool);
  BlockState state = StateOf(*layout, kernel, 1, &pool);
  const BlockBuffer gradient = Filled(&pool, 12, -2);
  ASSERT_TRUE(rule.Apply(layout->blocks()[kernel], gradient.data(), 1, {}, &state).ok());
  for (const float value : Values(state.values)) EXPECT_NEAR(value, 1 / std::sqrt(6), 1e-6);
}

TEST(UpdateRule, ScalesGradientsButNotStatistics) {
  TestJobOptions options;
  options.global_clipnorm = 1;
  const auto layout = MakeLayout(options);
  BufferPool pool;
  const UpdateRule rule(layout.get(), &pool);
  const BlockBuffer gradient = Filled(&pool, 6, -8);
  const int bias = PositionOf(*layout, "hidden/bias");
  BlockState state = StateOf(*layout, bias, 1, &pool);
  ASSERT_TRUE(
      rule.Apply(layout->blocks()[bias], gradient.data(), 0.25f, std::nullopt, &state).ok());
  EXPECT_EQ(state.values.data()[0], 3);
  const int mean = PositionOf(*layout, "norm/moving_mean");
  state = StateOf(*layout, mean, 0, &pool);
  ASSERT_TRUE(
      rule.Apply(layout->blocks()[mean], gradient.data(), 0.25f, std::nullopt, &state).ok());
  EXPECT_EQ(state.values.data()[0], -4);
}

}  // namespace
}  // namespace cairn::parameters
