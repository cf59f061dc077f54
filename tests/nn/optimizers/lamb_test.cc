#include "nn/optimizers/lamb.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/nn/optimizers/optimizer_harness.h"

namespace cairn::nn {
namespace {

proto::Optimizer Config() {
  proto::Optimizer config = OptimizerNamed("lamb");
  config.set_learning_rate(0.05);
  config.set_beta_1(0.8);
  config.set_beta_2(0.9);
  config.set_epsilon(0.01);
  return config;
}

// The published formula for a whole variable, in doubles.
class Reference {
 public:
  explicit Reference(const std::vector<float>& values)
      : values_(values.begin(), values.end()), m_(values.size(), 0), v_(values.size(), 0) {}

  void Update(int64_t t, double decay, double gradient_scale) {
    std::vector<double> update;
    double value_square = 0, update_square = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      const double g = TestGradient(t - 1, i) * gradient_scale;
      values_[i] -= decay * 0.05 * values_[i];
      m_[i] = 0.8 * m_[i] + 0.2 * g;
      v_[i] = 0.9 * v_[i] + 0.1 * g * g;
      update.push_back(m_[i] / (1 - std::pow(0.8, t)) /
                       (std::sqrt(v_[i] / (1 - std::pow(0.9, t))) + 0.01));
      value_square += values_[i] * values_[i];
      update_square += update[i] * update[i];
    }
    const double ratio =
        value_square > 0 && update_square > 0 ? std::sqrt(value_square / update_square) : 1;
    for (size_t i = 0; i < values_.size(); ++i) values_[i] -= 0.05 * ratio * update[i];
  }

  void Expect(const std::vector<float>& values) const {
    for (size_t i = 0; i < values_.size(); ++i) ASSERT_NEAR(values[i], values_[i], 2e-5) << i;
  }

 private:
  std::vector<double> values_, m_, v_;
};

TEST(LambTest, FollowsThePublishedFormula) {
  const auto optimizer = CreateOptimizer(Config()).value();
  EXPECT_TRUE(optimizer->needs_whole_variables());
  OptimizerState state(*optimizer, 1500);
  Reference reference(state.values);
  for (int64_t t = 1; t <= 8; ++t) {
    ApplyRange(*optimizer, state, &state, 0, 1500, t - 1, 0.05f);
    reference.Update(t, 0, 1);
  }
  reference.Expect(state.values);
}

// With an average the shared part runs in chunks; the norms must not.
TEST(LambTest, NormsAreOfTheWholeVariableWithDecayScaleAndAverage) {
  proto::Optimizer config = Config();
  config.set_weight_decay(0.2);
  config.set_use_ema(true);
  config.set_ema_momentum(0.5);
  const auto optimizer = CreateOptimizer(config).value();
  OptimizerState state(*optimizer, 3000);
  Reference reference(state.values);
  for (int64_t t = 1; t <= 3; ++t) {
    ApplyRange(*optimizer, state, &state, 0, 3000, t - 1, 0.05f, 0.3f);
    reference.Update(t, 0.2, 0.3);
  }
  reference.Expect(state.values);
}

TEST(LambTest, ZerosHaveTheRatioOne) {
  const auto optimizer = CreateOptimizer(Config()).value();
  OptimizerState state(*optimizer, 20);
  std::fill(state.values.begin(), state.values.end(), 0.0f);
  Reference reference(state.values);
  ApplyRange(*optimizer, state, &state, 0, 20, 0, 0.05f);
  reference.Update(1, 0, 1);
  reference.Expect(state.values);
  EXPECT_NE(state.values[0], 0);
}

TEST(LambTest, MovesToOtherArraysAsItUpdatesInPlace) {
  const auto optimizer = CreateOptimizer(Config()).value();
  const OptimizerState before = Train(*optimizer, 100, 2);
  OptimizerState moved(*optimizer, 100);
  ApplyRange(*optimizer, before, &moved, 0, 100, 2, optimizer->learning_rate(2));
  EXPECT_EQ(moved, Train(*optimizer, 100, 3));
}

TEST(LambTest, NanGradientsGiveNanValues) {
  const auto optimizer = CreateOptimizer(Config()).value();
  OptimizerState state(*optimizer, 3);
  ApplyRange(*optimizer, state, &state, 0, 3, 0, 0.01f, std::nanf(""));
  for (const float value : state.values) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace cairn::nn
