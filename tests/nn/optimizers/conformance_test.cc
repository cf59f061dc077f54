#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/nn/optimizers/optimizer_harness.h"
#include "tests/nn/optimizers/published_rules.h"

namespace cairn::nn {
namespace {

constexpr int64_t kCount = 77;
constexpr int64_t kUpdates = 300;

std::string Describe(const PublishedRule& rule) {
  return rule.name + ": " + rule.config.ShortDebugString();
}

// The accepted difference between float and double after kUpdates roundings of numbers of this
// size.
double Tolerance(double value) { return 2e-5 * std::max(1.0, std::fabs(value)); }

TEST(OptimizerConformanceTest, EveryRuleFollowsItsPublishedFormula) {
  for (const PublishedRule& rule : PublishedRules()) {
    const auto optimizer = CreateOptimizer(rule.config).value();
    ASSERT_EQ(optimizer->slot_count(), rule.slots.size()) << Describe(rule);
    const OptimizerState initial(*optimizer, kCount);
    const OptimizerState trained = Train(*optimizer, kCount, kUpdates);
    for (int64_t i = 0; i < kCount; ++i) {
      double value = initial.values[i];
      std::vector<double> slots = rule.slots;
      for (int64_t t = 1; t <= kUpdates; ++t) {
        rule.update(t, TestGradient(t - 1, i), &value, &slots);
      }
      ASSERT_NEAR(trained.values[i], value, Tolerance(value)) << Describe(rule) << " value " << i;
      for (size_t slot = 0; slot < slots.size(); ++slot) {
        ASSERT_NEAR(trained.slots[slot][i], slots[slot], 10 * Tolerance(slots[slot]))
            << Describe(rule) << " " << optimizer->slot_names()[slot] << " " << i;
      }
    }
  }
}

TEST(OptimizerConformanceTest, EveryRuleGivesTheSameBitsHoweverAVariableIsCut) {
  const int64_t count = 1031;
  for (PublishedRule rule : PublishedRules()) {
    rule.config.set_use_ema(true);
    const auto optimizer = CreateOptimizer(rule.config).value();
    const OptimizerState whole = Train(*optimizer, count, 5);
    for (int64_t piece : {1, 7, 64, 1000}) {
      OptimizerState cut(*optimizer, count);
      for (int64_t t = 0; t < 5; ++t) {
        for (int64_t begin = 0; begin < count; begin += piece) {
          ApplyRange(*optimizer, cut, &cut, begin, std::min(count, begin + piece), t,
                     optimizer->learning_rate(t));
        }
      }
      EXPECT_EQ(cut, whole) << Describe(rule) << " in pieces of " << piece;
    }
  }
}

TEST(OptimizerConformanceTest, EveryRuleMovesToOtherArraysAsItUpdatesInPlace) {
  for (const PublishedRule& rule : PublishedRules()) {
    const auto optimizer = CreateOptimizer(rule.config).value();
    const OptimizerState before = Train(*optimizer, 100, 2);
    OptimizerState moved(*optimizer, 100);
    const OptimizerState untouched = before;
    ApplyRange(*optimizer, before, &moved, 0, 100, 2, optimizer->learning_rate(2));
    EXPECT_EQ(before, untouched);
    EXPECT_EQ(moved, Train(*optimizer, 100, 3)) << Describe(rule);
  }
}

// From a fresh state: with momentum, later updates at rate 0 still move the values.
TEST(OptimizerConformanceTest, EveryRuleKeepsTheValuesAtRateZero) {
  for (const PublishedRule& rule : PublishedRules()) {
    const auto optimizer = CreateOptimizer(rule.config).value();
    OptimizerState state(*optimizer, 10);
    const std::vector<float> before = state.values;
    ApplyRange(*optimizer, state, &state, 0, 10, 0, 0);
    EXPECT_EQ(state.values, before) << Describe(rule);
  }
}

TEST(OptimizerConformanceTest, EveryRuleTakesTheScaledAndClippedGradient) {
  for (PublishedRule rule : PublishedRules()) {
    rule.config.set_clipvalue(0.5);
    const auto optimizer = CreateOptimizer(rule.config).value();
    OptimizerState state(*optimizer, kCount);
    std::vector<double> expected(state.values.begin(), state.values.end());
    for (int64_t i = 0; i < kCount; ++i) {
      std::vector<double> slots = rule.slots;
      const double gradient = std::clamp(0.3 * TestGradient(0, i), -0.5, 0.5);
      rule.update(1, gradient, &expected[i], &slots);
    }
    ApplyRange(*optimizer, state, &state, 0, kCount, 0, optimizer->learning_rate(0), 0.3f);
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_NEAR(state.values[i], expected[i], 1e-5) << Describe(rule) << " " << i;
    }
  }
}

TEST(OptimizerConformanceTest, EveryRuleDecaysValuesBeforeItsOwnUpdate) {
  for (PublishedRule rule : PublishedRules()) {
    if (rule.config.name() == "adamw") continue;  // Weight decay is part of its published form.
    rule.config.set_weight_decay(0.3);
    const auto optimizer = CreateOptimizer(rule.config).value();
    OptimizerState state(*optimizer, kCount);
    std::vector<double> expected(state.values.begin(), state.values.end());
    for (int64_t i = 0; i < kCount; ++i) {
      std::vector<double> slots = rule.slots;
      expected[i] -= 0.3 * optimizer->learning_rate(0) * expected[i];
      rule.update(1, TestGradient(0, i), &expected[i], &slots);
    }
    ApplyRange(*optimizer, state, &state, 0, kCount, 0, optimizer->learning_rate(0));
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_NEAR(state.values[i], expected[i], 1e-5) << Describe(rule) << " " << i;
    }
  }
}

TEST(OptimizerConformanceTest, AVeryLateUpdateIsFinite) {
  for (const PublishedRule& rule : PublishedRules()) {
    const auto optimizer = CreateOptimizer(rule.config).value();
    OptimizerState state(*optimizer, 10);
    ApplyRange(*optimizer, state, &state, 0, 10, int64_t{1} << 40, 0.001f);
    for (float value : state.values) EXPECT_TRUE(std::isfinite(value)) << Describe(rule);
  }
}

TEST(OptimizerConformanceTest, NanGradientsGiveNanValues) {
  for (const char* clip : {"", "clipvalue"}) {
    for (PublishedRule rule : PublishedRules()) {
      if (*clip != '\0') rule.config.set_clipvalue(1);
      const auto optimizer = CreateOptimizer(rule.config).value();
      OptimizerState state(*optimizer, 1);
      ApplyRange(*optimizer, state, &state, 0, 1, 0, 0.01f, std::nanf(""));
      EXPECT_TRUE(std::isnan(state.values[0])) << Describe(rule);
    }
  }
}

TEST(OptimizerConformanceTest, AnEmptyBlockIsLeftAlone) {
  for (const PublishedRule& rule : PublishedRules()) {
    const auto optimizer = CreateOptimizer(rule.config).value();
    OptimizerState state(*optimizer, 0);
    ApplyRange(*optimizer, state, &state, 0, 0, 0, 1);
  }
}

TEST(OptimizerConformanceTest, AUnitGradientAtRateOneCountsExactly) {
  const auto optimizer = CreateOptimizer(OptimizerNamed("sgd")).value();
  const float gradient = 1;
  float value = 0;
  for (int i = 0; i < 100000; ++i) {
    optimizer->Apply({.count = 1, .gradient = &gradient, .values_in = &value, .values_out = &value},
                     i, 1);
  }
  EXPECT_EQ(value, -100000);
}

TEST(OptimizerConformanceTest, SgdKeepsASlotOnlyForMomentum) {
  proto::Optimizer config = OptimizerNamed("sgd");
  config.set_nesterov(true);
  EXPECT_EQ(CreateOptimizer(config).value()->slot_count(), 0);
}

}  // namespace
}  // namespace cairn::nn
