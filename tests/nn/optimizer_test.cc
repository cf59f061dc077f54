#include "nn/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/nn/optimizers/optimizer_harness.h"

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;

std::vector<proto::Optimizer> EveryRule() {
  proto::Optimizer momentum = OptimizerNamed("sgd"), nesterov = OptimizerNamed("sgd");
  momentum.set_momentum(0.9);
  nesterov.set_momentum(0.9);
  nesterov.set_nesterov(true);
  return {OptimizerNamed("sgd"), momentum, nesterov, OptimizerNamed("adam"),
          OptimizerNamed("adagrad")};
}

std::string ErrorOf(const proto::Optimizer& config) {
  return std::string(CreateOptimizer(config).status().message());
}

TEST(OptimizerTest, EveryRuleGivesTheSameBitsHoweverAVariableIsCut) {
  const int64_t count = 1031;
  for (const proto::Optimizer& config : EveryRule()) {
    const auto optimizer = CreateOptimizer(config).value();
    const OptimizerState whole = Train(*optimizer, count, 5);
    for (int64_t piece : {1, 7, 64, 1000}) {
      OptimizerState cut(*optimizer, count);
      for (int64_t t = 0; t < 5; ++t) {
        for (int64_t begin = 0; begin < count; begin += piece) {
          ApplyRange(*optimizer, cut, &cut, begin, std::min(count, begin + piece), t,
                     optimizer->learning_rate());
        }
      }
      EXPECT_EQ(cut, whole) << config.name() << " in pieces of " << piece;
    }
  }
}

TEST(OptimizerTest, EveryRuleMovesToOtherArraysAsItUpdatesInPlace) {
  for (const proto::Optimizer& config : EveryRule()) {
    const auto optimizer = CreateOptimizer(config).value();
    const OptimizerState before = Train(*optimizer, 100, 2);
    OptimizerState moved(*optimizer, 100);
    const OptimizerState untouched = before;
    ApplyRange(*optimizer, before, &moved, 0, 100, 2, optimizer->learning_rate());
    EXPECT_EQ(before, untouched);
    EXPECT_EQ(moved, Train(*optimizer, 100, 3));
  }
}

TEST(OptimizerTest, EveryRuleUsesTheRateThatItIsGiven) {
  for (const proto::Optimizer& config : EveryRule()) {
    const auto optimizer = CreateOptimizer(config).value();
    OptimizerState state(*optimizer, 10);
    const std::vector<float> before = state.values;
    ApplyRange(*optimizer, state, &state, 0, 10, 0, 0);
    EXPECT_EQ(state.values, before) << config.name();
  }
}

TEST(OptimizerTest, AnEmptyBlockIsLeftAlone) {
  for (const proto::Optimizer& config : EveryRule()) {
    const auto optimizer = CreateOptimizer(config).value();
    OptimizerState state(*optimizer, 0);
    ApplyRange(*optimizer, state, &state, 0, 0, 0, 1);
  }
}

TEST(OptimizerTest, DefaultsAreKerasDefaults) {
  EXPECT_FLOAT_EQ(CreateOptimizer(OptimizerNamed("sgd")).value()->learning_rate(), 0.01f);
  EXPECT_FLOAT_EQ(CreateOptimizer(OptimizerNamed("Adam")).value()->learning_rate(), 0.001f);
  const auto adagrad = CreateOptimizer(OptimizerNamed("adagrad")).value();
  EXPECT_FLOAT_EQ(adagrad->learning_rate(), 0.001f);
  EXPECT_FLOAT_EQ(adagrad->initial_slot_value(0), 0.1f);
}

TEST(OptimizerTest, RefusesAnUnknownNameWithTheKnownOnes) {
  EXPECT_EQ(ErrorOf(OptimizerNamed("lion")), "unknown optimizer 'lion'; known: sgd, adam, adagrad");
  EXPECT_THAT(ErrorOf(OptimizerNamed("")), HasSubstr("unknown optimizer ''"));
}

TEST(OptimizerTest, RefusesAnArgumentOfAnotherOptimizer) {
  proto::Optimizer config = OptimizerNamed("sgd");
  config.set_beta_1(0.9);
  EXPECT_EQ(ErrorOf(config),
            "optimizer sgd: unknown argument 'beta_1'; known: learning_rate, momentum, nesterov");
}

TEST(OptimizerTest, RefusesValuesOutOfRange) {
  proto::Optimizer adam = OptimizerNamed("adam");
  adam.set_beta_2(1);
  EXPECT_THAT(ErrorOf(adam), HasSubstr("'beta_2' is 1; it must be from 0 to below 1"));
  proto::Optimizer sgd = OptimizerNamed("sgd");
  sgd.set_momentum(1.5);
  EXPECT_THAT(ErrorOf(sgd), HasSubstr("'momentum' is 1.5; it must be from 0 to 1"));
  sgd.set_momentum(0);
  sgd.set_learning_rate(-1);
  EXPECT_THAT(ErrorOf(sgd), HasSubstr("'learning_rate' is -1; it must be finite"));
  sgd.set_learning_rate(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(ErrorOf(sgd), HasSubstr("'learning_rate' is nan"));
  sgd.set_learning_rate(1e39);  // Infinite as a float.
  EXPECT_THAT(ErrorOf(sgd), HasSubstr("'learning_rate' is 1e+39"));
}

}  // namespace
}  // namespace cairn::nn
