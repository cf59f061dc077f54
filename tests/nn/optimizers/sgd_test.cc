#include "nn/optimizers/sgd.h"

#include <gtest/gtest.h>

#include "tests/nn/optimizers/optimizer_harness.h"

namespace cairn::nn {
namespace {

constexpr int64_t kCount = 77;
constexpr int64_t kUpdates = 20;

proto::Optimizer Config(double rate, double momentum, bool nesterov) {
  proto::Optimizer config = OptimizerNamed("sgd");
  config.set_learning_rate(rate);
  config.set_momentum(momentum);
  config.set_nesterov(nesterov);
  return config;
}

void ExpectLikeDoubles(double rate, double momentum, bool nesterov) {
  const auto optimizer = CreateSgd(Config(rate, momentum, nesterov));
  const OptimizerState initial(*optimizer, kCount);
  const OptimizerState trained = Train(*optimizer, kCount, kUpdates);
  for (int64_t i = 0; i < kCount; ++i) {
    double value = initial.values[i], velocity = 0;
    for (int64_t t = 0; t < kUpdates; ++t) {
      const double g = TestGradient(t, i);
      velocity = momentum * velocity - rate * g;
      value += nesterov ? momentum * velocity - rate * g : velocity;
    }
    EXPECT_NEAR(trained.values[i], value, 1e-5) << i;
  }
}

TEST(SgdTest, PlainDescentFollowsTheGradient) { ExpectLikeDoubles(0.1, 0, false); }

TEST(SgdTest, MomentumAccumulatesSteps) { ExpectLikeDoubles(0.05, 0.9, false); }

TEST(SgdTest, NesterovLooksAhead) { ExpectLikeDoubles(0.05, 0.9, true); }

TEST(SgdTest, KeepsASlotOnlyForMomentum) {
  EXPECT_EQ(CreateSgd(Config(1, 0, true))->slot_count(), 0);
  const auto with_momentum = CreateSgd(Config(1, 0.5, false));
  ASSERT_EQ(with_momentum->slot_count(), 1);
  EXPECT_STREQ(with_momentum->slot_names()[0], "momentum");
}

TEST(SgdTest, AUnitGradientAtRateOneCountsExactly) {
  const auto optimizer = CreateSgd(Config(1, 0, false));
  const float gradient = 1;
  float value = 0;
  for (int i = 0; i < 100000; ++i) {
    optimizer->Apply({.count = 1, .gradient = &gradient, .values_in = &value, .values_out = &value},
                     i, 1);
  }
  EXPECT_EQ(value, -100000);
}

}  // namespace
}  // namespace cairn::nn
