#include "nn/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/nn/optimizers/optimizer_harness.h"

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(const proto::Optimizer& config) {
  return std::string(CreateOptimizer(config).status().message());
}

proto::Optimizer Averaging(double momentum, int64_t frequency) {
  proto::Optimizer config = OptimizerNamed("sgd");
  config.set_momentum(0.9);
  config.set_use_ema(true);
  config.set_ema_momentum(momentum);
  if (frequency > 0) config.set_ema_overwrite_frequency(frequency);
  return config;
}

TEST(OptimizerTest, DefaultsAreKerasDefaults) {
  EXPECT_FLOAT_EQ(CreateOptimizer(OptimizerNamed("SGD")).value()->learning_rate(7), 0.01f);
  for (const char* name : {"Adam", "AdamW", "Nadam", "Adamax", "Adagrad", "Adadelta", "RMSprop",
                           "Ftrl", "Lion", "Lamb"}) {
    EXPECT_FLOAT_EQ(CreateOptimizer(OptimizerNamed(name)).value()->learning_rate(0), 0.001f);
  }
  EXPECT_FLOAT_EQ(CreateOptimizer(OptimizerNamed("adagrad")).value()->initial_slot_value(0), 0.1f);
}

TEST(OptimizerTest, WithoutAnAverageThereIsNoSlotForIt) {
  EXPECT_EQ(CreateOptimizer(OptimizerNamed("adam")).value()->average_slot(), -1);
}

TEST(OptimizerTest, AScheduleSaysTheRateOfEachUpdate) {
  proto::Optimizer config = OptimizerNamed("adam");
  auto* schedule = config.mutable_learning_rate_schedule();
  schedule->set_name("exponential_decay");
  schedule->set_initial_learning_rate(0.5);
  schedule->set_decay_steps(10);
  schedule->set_decay_rate(0.5);
  const auto optimizer = CreateOptimizer(config).value();
  EXPECT_FLOAT_EQ(optimizer->learning_rate(0), 0.5f);
  EXPECT_FLOAT_EQ(optimizer->learning_rate(20), 0.125f);
}

TEST(OptimizerTest, TheAverageFollowsTheValues) {
  const auto optimizer = CreateOptimizer(Averaging(0.75, 0)).value();
  ASSERT_EQ(optimizer->slot_count(), 2);
  EXPECT_EQ(optimizer->average_slot(), 1);
  EXPECT_STREQ(optimizer->slot_names()[1], Optimizer::kAverageSlotName);
  OptimizerState state(*optimizer, 3000);
  std::vector<double> average(3000);
  for (int64_t t = 0; t < 30; ++t) {
    ApplyRange(*optimizer, state, &state, 0, 3000, t, 0.1f);
    for (int64_t i = 0; i < 3000; ++i) {
      average[i] = t == 0 ? state.values[i] : 0.75 * average[i] + 0.25 * state.values[i];
      ASSERT_NEAR(state.slots[1][i], average[i], 1e-5) << t << " " << i;
    }
  }
}

TEST(OptimizerTest, AveragesBecomeTheValuesAsOftenAsAsked) {
  const auto optimizer = CreateOptimizer(Averaging(0.5, 3)).value();
  OptimizerState state(*optimizer, 100);
  for (int64_t t = 0; t < 9; ++t) {
    ApplyRange(*optimizer, state, &state, 0, 100, t, 0.1f);
    EXPECT_EQ(state.values == state.slots[1], (t + 1) % 3 == 0 || t == 0) << t;
  }
}

TEST(OptimizerTest, RefusesAnUnknownNameWithTheKnownOnes) {
  EXPECT_EQ(
      ErrorOf(OptimizerNamed("adma")),
      "unknown optimizer 'adma'; did you mean 'adam'? known: sgd, adam, adamw, nadam, adamax, "
      "adagrad, adadelta, rmsprop, ftrl, lion, lamb");
  EXPECT_THAT(ErrorOf(OptimizerNamed("")), HasSubstr("unknown optimizer ''"));
}

TEST(OptimizerTest, RefusesAnArgumentOfAnotherOptimizer) {
  proto::Optimizer config = OptimizerNamed("sgd");
  config.set_beta_1(0.9);
  EXPECT_THAT(ErrorOf(config), StartsWith("sgd: unknown argument 'beta_1'; known: "
                                          "learning_rate, momentum, nesterov, "));
}

TEST(OptimizerTest, RefusesValuesOutOfRange) {
  proto::Optimizer adam = OptimizerNamed("adam");
  adam.set_beta_2(1);
  EXPECT_EQ(ErrorOf(adam), "adam: 'beta_2' is 1; it must be from 0 to below 1");
  proto::Optimizer sgd = OptimizerNamed("sgd");
  sgd.set_momentum(1.5);
  EXPECT_EQ(ErrorOf(sgd), "sgd: 'momentum' is 1.5; it must be from 0 to 1");
  sgd.set_momentum(0);
  sgd.set_learning_rate(-1);
  EXPECT_THAT(ErrorOf(sgd), HasSubstr("'learning_rate' is -1; it must be finite"));
  sgd.set_learning_rate(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(ErrorOf(sgd), HasSubstr("'learning_rate' is nan"));
  sgd.set_learning_rate(1e39);  // Infinite as a float.
  EXPECT_THAT(ErrorOf(sgd), HasSubstr("'learning_rate' is 1e+39"));
  proto::Optimizer ftrl = OptimizerNamed("ftrl");
  ftrl.set_learning_rate_power(0.5);
  EXPECT_THAT(ErrorOf(ftrl), HasSubstr("'learning_rate_power' is 0.5; it must be finite and at "
                                       "most 0"));
  proto::Optimizer average = Averaging(1.5, 0);
  EXPECT_THAT(ErrorOf(average), HasSubstr("'ema_momentum' is 1.5; it must be from 0 to 1"));
  average = Averaging(0.5, 0);
  average.set_ema_overwrite_frequency(0);
  EXPECT_THAT(ErrorOf(average), HasSubstr("'ema_overwrite_frequency' is 0; it must be finite and "
                                          "greater than 0"));
}

TEST(OptimizerTest, RefusesTwoWaysOfClippingAtOnce) {
  proto::Optimizer config = OptimizerNamed("adam");
  config.set_clipnorm(1);
  EXPECT_EQ(CreateOptimizer(config).value()->clip().kind(), GradientClip::Kind::kNorm);
  config.set_clipvalue(1);
  EXPECT_EQ(ErrorOf(config),
            "adam: only one of 'clipvalue', 'clipnorm' and 'global_clipnorm' may be "
            "there");
  config.clear_clipnorm();
  config.set_clipvalue(0);
  EXPECT_THAT(ErrorOf(config), HasSubstr("'clipvalue' is 0; it must be finite and greater than 0"));
}

}  // namespace
}  // namespace cairn::nn
