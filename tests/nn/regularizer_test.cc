#include "nn/regularizer.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

absl::StatusOr<Regularizer> Parse(const std::string& json) {
  google::protobuf::Value value;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &value).ok());
  return ParseRegularizer(value);
}

TEST(RegularizerTest, NothingIsNoPenalty) { EXPECT_TRUE(Parse("null")->empty()); }

TEST(RegularizerTest, ANameMeansOnePercent) {
  EXPECT_EQ(Parse("\"l1\"")->l1, 0.01);
  EXPECT_EQ(Parse("\"l2\"")->l2, 0.01);
  EXPECT_EQ(Parse("\"l1_l2\"")->l1, 0.01);
}

TEST(RegularizerTest, ObjectsHaveKerasDefaults) {
  EXPECT_EQ(Parse(R"({"class_name": "L2", "config": {"l2": 0.5}})")->l2, 0.5);
  EXPECT_EQ(Parse(R"({"class_name": "L1", "config": {}})")->l1, 0.01);
  EXPECT_TRUE(Parse(R"({"class_name": "L1L2", "config": {}})")->empty());
  const Regularizer both = *Parse(R"({"class_name": "L1L2", "config": {"l1": 1, "l2": 2}})");
  EXPECT_EQ(both.l1, 1);
  EXPECT_EQ(both.l2, 2);
}

TEST(RegularizerTest, WhatIsNotARegularizerIsRefused) {
  for (const char* bad : {"\"l3\"", "7", "{}", R"({"class_name": 1})",
                          R"({"class_name": "L2", "config": {"l2": "x"}})",
                          R"({"class_name": "L2", "config": {"l2": -1}})",
                          R"({"class_name": "L2", "config": {"l4": 1}})",
                          R"({"class_name": "OrthogonalRegularizer", "config": {"factor": -1}})",
                          R"({"class_name": "OrthogonalRegularizer", "config": {"mode": "all"}})",
                          R"({"class_name": "OrthogonalRegularizer", "config": {"l2": 1}})"}) {
    EXPECT_EQ(Parse(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(RegularizerTest, PenaltyAndGradientAreTheFormulas) {
  const Regularizer regularizer{.l1 = 0.5, .l2 = 0.25};
  std::vector<float> values(5000, -2);
  values[0] = 3;
  values[1] = 0;
  EXPECT_NEAR(regularizer.Penalty(values.data(), 5000),
              0.5 * (3 + 2 * 4998) + 0.25 * (9 + 4 * 4998), 1e-2);
  std::vector<float> gradient(5000, 1);
  regularizer.AddGradient(values.data(), 5000, gradient.data());
  EXPECT_FLOAT_EQ(gradient[0], 1 + 0.5f + 0.5f * 3);
  EXPECT_FLOAT_EQ(gradient[1], 1);
  EXPECT_FLOAT_EQ(gradient[4999], 1 - 0.5f - 0.5f * 2);
}

TEST(RegularizerTest, OrthogonalRegularizerIsTheMeanCosineOfPairs) {
  Regularizer rows = *Parse(R"({"class_name": "OrthogonalRegularizer", "config": {"factor": 2}})");
  rows.columns = 2;
  // Rows of 45, 90 and 225 degrees: cosines of sqrt(1/2), -1 and -sqrt(1/2).
  const std::vector<float> values = {3, 3, 0, 2, -1, -1};
  EXPECT_NEAR(rows.Penalty(values.data(), 6), 2 * (2 * std::sqrt(0.5) + 1) / 3, 1e-6);
  Regularizer columns = *Parse(
      R"({"class_name": "OrthogonalRegularizer", "config": {"factor": 2, "mode": "columns"}})");
  columns.columns = 2;
  EXPECT_NEAR(columns.Penalty(values.data(), 6), 2 * 10 / std::sqrt(10.0 * 14), 1e-6);
}

TEST(RegularizerTest, OrthogonalRegularizersGradientIsACentralDifference) {
  for (const bool of_columns : {false, true}) {
    const Regularizer regularizer{.orthogonal = 0.5, .of_columns = of_columns, .columns = 4};
    std::vector<float> values;
    for (int i = 0; i < 12; ++i) values.push_back(static_cast<float>(std::sin(2.3 * i + 0.5)));
    std::vector<float> gradient(12, 1);
    regularizer.AddGradient(values.data(), 12, gradient.data());
    for (int i = 0; i < 12; ++i) {
      std::vector<float> moved = values;
      constexpr float kStep = 0.01f;
      moved[i] = values[i] + kStep;
      const double above = regularizer.Penalty(moved.data(), 12);
      moved[i] = values[i] - kStep;
      const double below = regularizer.Penalty(moved.data(), 12);
      EXPECT_NEAR(gradient[i], 1 + (above - below) / (2 * kStep), 1e-3) << i;
    }
  }
}

}  // namespace
}  // namespace cairn::nn
