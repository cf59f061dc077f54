#include "nn/regularizer.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

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
                          R"({"class_name": "L2", "config": {"l4": 1}})"}) {
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

}  // namespace
}  // namespace cairn::nn
