#include "nn/optimizers/learning_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "google/protobuf/text_format.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;

proto::Optimizer Scheduled(const std::string& text) {
  proto::Optimizer config;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(text, config.mutable_learning_rate_schedule()))
      << text;
  return config;
}

double RateAt(const std::string& text, int64_t step) {
  return LearningRate::Create(Scheduled(text), 1).value().At(step);
}

std::string ErrorOf(const std::string& text) {
  return std::string(LearningRate::Create(Scheduled(text), 1).status().message());
}

TEST(LearningRateTest, ANumberStays) {
  proto::Optimizer config;
  EXPECT_FLOAT_EQ(LearningRate::Create(config, 0.25).value().At(1000), 0.25f);
  config.set_learning_rate(0.5);
  EXPECT_FLOAT_EQ(LearningRate::Create(config, 0.25).value().At(1000), 0.5f);
  EXPECT_FLOAT_EQ(RateAt("name: 'constant' initial_learning_rate: 0.125", 9), 0.125f);
}

TEST(LearningRateTest, ExponentialDecay) {
  const std::string text =
      "name: 'ExponentialDecay' initial_learning_rate: 0.1 decay_steps: 10 decay_rate: 0.5";
  EXPECT_FLOAT_EQ(RateAt(text, 0), 0.1f);
  EXPECT_FLOAT_EQ(RateAt(text, 5), 0.1f * std::sqrt(0.5f));
  EXPECT_FLOAT_EQ(RateAt(text, 20), 0.025f);
  EXPECT_FLOAT_EQ(RateAt(text + " staircase: true", 19), 0.05f);
}

TEST(LearningRateTest, InverseTimeDecay) {
  const std::string text =
      "name: 'inverse_time_decay' initial_learning_rate: 0.1 decay_steps: 10 decay_rate: 0.5";
  EXPECT_FLOAT_EQ(RateAt(text, 40), 0.1f / 3);
  EXPECT_FLOAT_EQ(RateAt(text, 5), 0.08f);
  EXPECT_FLOAT_EQ(RateAt(text + " staircase: true", 5), 0.1f);
}

TEST(LearningRateTest, PiecewiseConstantDecayChangesAfterItsBoundaries) {
  const std::string text =
      "name: 'piecewise_constant_decay' boundaries: [10, 20] values: [1, 0.5, 0.25]";
  EXPECT_EQ(RateAt(text, 0), 1);
  EXPECT_EQ(RateAt(text, 10), 1);
  EXPECT_EQ(RateAt(text, 11), 0.5);
  EXPECT_EQ(RateAt(text, 20), 0.5);
  EXPECT_EQ(RateAt(text, 1000), 0.25);
}

TEST(LearningRateTest, PolynomialDecayEndsOrCycles) {
  const std::string text =
      "name: 'polynomial_decay' initial_learning_rate: 1 decay_steps: 10 end_learning_rate: 0.1 "
      "power: 2";
  EXPECT_FLOAT_EQ(RateAt(text, 5), 0.9f * 0.25f + 0.1f);
  EXPECT_FLOAT_EQ(RateAt(text, 10), 0.1f);
  EXPECT_FLOAT_EQ(RateAt(text, 15), 0.1f);
  EXPECT_FLOAT_EQ(RateAt(text + " cycle: true", 15), 0.9f * 0.0625f + 0.1f);
  EXPECT_FLOAT_EQ(RateAt(text + " cycle: true", 0), 1);
  EXPECT_FLOAT_EQ(RateAt("name: 'polynomial_decay' initial_learning_rate: 1 decay_steps: 4", 9),
                  0.0001f);
}

TEST(LearningRateTest, CosineDecayStopsAtAlpha) {
  const std::string text =
      "name: 'cosine_decay' initial_learning_rate: 2 decay_steps: 10 alpha: 0.1";
  EXPECT_FLOAT_EQ(RateAt(text, 0), 2);
  EXPECT_FLOAT_EQ(RateAt(text, 5), 2 * (0.9f * 0.5f + 0.1f));
  EXPECT_FLOAT_EQ(RateAt(text, 10), 0.2f);
  EXPECT_FLOAT_EQ(RateAt(text, 100), 0.2f);
}

TEST(LearningRateTest, CosineDecayWarmsUpToItsTargetAsKerasDoes) {
  const std::string text =
      "name: 'CosineDecay' initial_learning_rate: 0.2 decay_steps: 10 warmup_target: 1 "
      "warmup_steps: 4";
  EXPECT_FLOAT_EQ(RateAt(text, 0), 0.2f);
  EXPECT_FLOAT_EQ(RateAt(text, 2), 0.6f);
  EXPECT_FLOAT_EQ(RateAt(text, 4), 1);
  EXPECT_FLOAT_EQ(RateAt(text, 9), 0.5f);
  EXPECT_NEAR(RateAt(text, 14), 0, 1e-9);
}

TEST(LearningRateTest, CosineDecayRestartsInLongerAndLowerPeriods) {
  const std::string text =
      "name: 'cosine_decay_restarts' initial_learning_rate: 1 first_decay_steps: 10 t_mul: 2 "
      "m_mul: 0.5";
  // Periods begin at 10 * (2^i - 1).
  double peak = 1;
  for (int64_t period = 0; period < 30; ++period, peak /= 2) {
    const int64_t length = int64_t{10} << period;
    const int64_t begin = length - 10;
    EXPECT_FLOAT_EQ(RateAt(text, begin), peak) << period;
    EXPECT_FLOAT_EQ(RateAt(text, begin + length / 2), peak / 2) << period;
    EXPECT_LT(RateAt(text, begin + length - 1), 0.1 * peak) << period;
  }
  const std::string even =
      "name: 'cosine_decay_restarts' initial_learning_rate: 1 first_decay_steps: 4 t_mul: 1";
  EXPECT_FLOAT_EQ(RateAt(even, 4000), 1);
  EXPECT_FLOAT_EQ(RateAt(even, 4002), 0.5f);
}

TEST(LearningRateTest, AnyScheduleWarmsUpFromZeroToItsBeginning) {
  const std::string text =
      "name: 'exponential_decay' initial_learning_rate: 0.1 decay_steps: 10 decay_rate: 0.5 "
      "warmup_steps: 8";
  EXPECT_EQ(RateAt(text, 0), 0);
  EXPECT_FLOAT_EQ(RateAt(text, 2), 0.025f);
  EXPECT_FLOAT_EQ(RateAt(text, 8), 0.1f);
  EXPECT_FLOAT_EQ(RateAt(text, 18), 0.05f);
  EXPECT_FLOAT_EQ(RateAt("name: 'constant' initial_learning_rate: 1 warmup_steps: 4", 3), 0.75f);
}

TEST(LearningRateTest, WhatIsWrongIsRefusedByName) {
  EXPECT_THAT(ErrorOf("name: 'exponential_decy'"),
              HasSubstr("learning_rate: unknown schedule 'exponential_decy'; did you mean "
                        "'exponential_decay'? known: constant, "));
  EXPECT_EQ(ErrorOf("name: 'exponential_decay' initial_learning_rate: 1 decay_steps: 5"),
            "learning_rate: exponential_decay: 'decay_rate' is missing");
  EXPECT_THAT(ErrorOf("name: 'cosine_decay' initial_learning_rate: 1 decay_steps: 5 cycle: true"),
              HasSubstr("unknown argument 'cycle'; known: initial_learning_rate, decay_steps, "));
  EXPECT_THAT(ErrorOf("name: 'cosine_decay' initial_learning_rate: 1 decay_steps: 0"),
              HasSubstr("'decay_steps' is 0; it must be finite and greater than 0"));
  EXPECT_THAT(ErrorOf("name: 'cosine_decay_restarts' initial_learning_rate: 1 "
                      "first_decay_steps: 5 t_mul: 0.5"),
              HasSubstr("'t_mul' is 0.5; it must be finite and at least 1"));
  EXPECT_THAT(ErrorOf("name: 'cosine_decay' initial_learning_rate: 1 decay_steps: 5 "
                      "warmup_target: 2"),
              HasSubstr("'warmup_target' needs 'warmup_steps'"));
}

TEST(LearningRateTest, PiecesMustFitTogether) {
  EXPECT_THAT(ErrorOf("name: 'piecewise_constant_decay' boundaries: [1, 2] values: [1, 2]"),
              HasSubstr("'values' has 2 numbers; for 2 boundaries it must have 3"));
  EXPECT_THAT(ErrorOf("name: 'piecewise_constant_decay' boundaries: [2, 2] values: [1, 2, 3]"),
              HasSubstr("'boundaries[1]' is 2; each must be greater than the one before"));
  EXPECT_THAT(ErrorOf("name: 'piecewise_constant_decay' boundaries: [2] values: [1, -2]"),
              HasSubstr("'values[1]' is -2; it must be finite and not negative"));
}

TEST(LearningRateTest, ANumberAndAScheduleAreTooMuch) {
  proto::Optimizer config = Scheduled("name: 'constant' initial_learning_rate: 1");
  config.set_learning_rate(1);
  EXPECT_THAT(std::string(LearningRate::Create(config, 1).status().message()),
              HasSubstr("keep one of them"));
}

}  // namespace
}  // namespace cairn::nn
