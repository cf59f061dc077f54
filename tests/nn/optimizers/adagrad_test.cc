#include "nn/optimizers/adagrad.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/nn/optimizers/optimizer_harness.h"

namespace cairn::nn {
namespace {

constexpr int64_t kCount = 77;
constexpr int64_t kUpdates = 20;

void ExpectLikeDoubles(const proto::Optimizer& config, double rate, double start, double epsilon) {
  const auto optimizer = CreateAdagrad(config);
  const OptimizerState initial(*optimizer, kCount);
  const OptimizerState trained = Train(*optimizer, kCount, kUpdates);
  for (int64_t i = 0; i < kCount; ++i) {
    double value = initial.values[i], sum = start;
    for (int64_t t = 0; t < kUpdates; ++t) {
      const double g = TestGradient(t, i);
      sum += g * g;
      value -= rate * g / std::sqrt(sum + epsilon);
    }
    EXPECT_NEAR(trained.values[i], value, 1e-5) << i;
    EXPECT_NEAR(trained.slots[0][i], sum, sum * 1e-5);
  }
}

TEST(AdagradTest, FollowsItsRuleWithKerasDefaults) {
  ExpectLikeDoubles(OptimizerNamed("adagrad"), 0.001, 0.1, 1e-7);
}

TEST(AdagradTest, FollowsItsRuleWithOtherArguments) {
  proto::Optimizer config = OptimizerNamed("adagrad");
  config.set_learning_rate(0.5);
  config.set_initial_accumulator_value(0);
  config.set_epsilon(0.01);
  ExpectLikeDoubles(config, 0.5, 0, 0.01);
}

}  // namespace
}  // namespace cairn::nn
