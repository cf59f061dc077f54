#include "nn/optimizers/adam.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/nn/optimizers/optimizer_harness.h"

namespace cairn::nn {
namespace {

constexpr int64_t kCount = 77;
constexpr int64_t kUpdates = 20;

void ExpectLikeDoubles(const proto::Optimizer& config, double rate, double b1, double b2,
                       double epsilon) {
  const auto optimizer = CreateAdam(config);
  const OptimizerState initial(*optimizer, kCount);
  const OptimizerState trained = Train(*optimizer, kCount, kUpdates);
  for (int64_t i = 0; i < kCount; ++i) {
    double value = initial.values[i], m = 0, v = 0;
    for (int64_t t = 1; t <= kUpdates; ++t) {
      const double g = TestGradient(t - 1, i);
      m = b1 * m + (1 - b1) * g;
      v = b2 * v + (1 - b2) * g * g;
      const double alpha = rate * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t));
      value -= alpha * m / (std::sqrt(v) + epsilon);
    }
    EXPECT_NEAR(trained.values[i], value, 1e-5) << i;
    EXPECT_NEAR(trained.slots[0][i], m, 1e-5);
    EXPECT_NEAR(trained.slots[1][i], v, 1e-5);
  }
}

TEST(AdamTest, FollowsItsRuleWithKerasDefaults) {
  ExpectLikeDoubles(OptimizerNamed("adam"), 0.001, 0.9, 0.999, 1e-7);
}

TEST(AdamTest, FollowsItsRuleWithOtherArguments) {
  proto::Optimizer config = OptimizerNamed("adam");
  config.set_learning_rate(0.02);
  config.set_beta_1(0.5);
  config.set_beta_2(0.9);
  config.set_epsilon(0.1);
  ExpectLikeDoubles(config, 0.02, 0.5, 0.9, 0.1);
}

TEST(AdamTest, TheFirstStepIsTheRateWhateverTheGradient) {
  const auto optimizer = CreateAdam(OptimizerNamed("adam"));
  OptimizerState state(*optimizer, 50);
  const std::vector<float> before = state.values;
  ApplyRange(*optimizer, state, &state, 0, 50, 0, 0.01f);
  for (int i = 0; i < 50; ++i) {
    EXPECT_NEAR(std::abs(state.values[i] - before[i]), 0.01, 1e-4);
  }
}

TEST(AdamTest, AddsEpsilonToTheUncorrectedRoot) {
  // g = 1 at t = 1: sqrt(v) = sqrt(0.001), so an epsilon of that size halves the step. Added to the
  // corrected root, which is 1, it would take 3 percent.
  proto::Optimizer config = OptimizerNamed("adam");
  config.set_epsilon(std::sqrt(0.001));
  const auto optimizer = CreateAdam(config);
  const float gradient = 1;
  float value = 0, m = 0, v = 0;
  const float* const slots_in[] = {&m, &v};
  float* const slots_out[] = {&m, &v};
  optimizer->Apply({1, &gradient, &value, &value, slots_in, slots_out}, 0, 1);
  EXPECT_NEAR(value, -0.5, 1e-5);
}

TEST(AdamTest, AVeryLateUpdateIsFinite) {
  const auto optimizer = CreateAdam(OptimizerNamed("adam"));
  OptimizerState state(*optimizer, 10);
  ApplyRange(*optimizer, state, &state, 0, 10, int64_t{1} << 40, 0.001f);
  for (float value : state.values) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace cairn::nn
