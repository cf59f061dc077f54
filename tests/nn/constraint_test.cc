#include "nn/constraint.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

absl::StatusOr<Constraint> Parse(const std::string& json, size_t rank = 2) {
  google::protobuf::Value value;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &value).ok());
  return ParseConstraint(value, rank);
}

std::vector<float> Applied(const std::string& json, std::vector<int64_t> shape,
                           std::vector<float> values) {
  const absl::StatusOr<Constraint> constraint = Parse(json, shape.size());
  EXPECT_TRUE(constraint.ok()) << constraint.status();
  constraint->Apply(shape, values.data());
  return values;
}

void ExpectNear(const std::vector<float>& values, const std::vector<float>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6) << i;
}

TEST(ConstraintTest, NothingChangesNothing) {
  EXPECT_TRUE(Parse("null")->empty());
  EXPECT_EQ(Applied("null", {2}, {-1, 2}), (std::vector<float>{-1, 2}));
}

TEST(ConstraintTest, NonNegReplacesNegativeValues) {
  const std::vector<float> values = Applied("\"non_neg\"", {3}, {-1, 2, NAN});
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], 2);
  EXPECT_TRUE(std::isnan(values[2]));
}

TEST(ConstraintTest, MaxNormScalesOnlyLongColumns) {
  // The columns are (3, 4) and (0.6, 0.8).
  ExpectNear(Applied(R"({"class_name": "MaxNorm", "config": {"max_value": 2, "axis": 0}})", {2, 2},
                     {3, 0.6, 4, 0.8}),
             {1.2, 0.6, 1.6, 0.8});
  ExpectNear(Applied("\"max_norm\"", {2, 1}, {3, 4}), {1.2, 1.6});
}

TEST(ConstraintTest, UnitNormAlongRowsAndOverAllAxes) {
  ExpectNear(Applied(R"({"class_name": "UnitNorm", "config": {"axis": -1}})", {2, 2}, {3, 4, 0, 2}),
             {0.6, 0.8, 0, 1});
  ExpectNear(
      Applied(R"({"class_name": "UnitNorm", "config": {"axis": null}})", {2, 2}, {1, 1, -1, 1}),
      {0.5, 0.5, -0.5, 0.5});
  // A vector of zeros stays one.
  ExpectNear(Applied("\"UnitNorm\"", {2}, {0, 0}), {0, 0});
}

TEST(ConstraintTest, MinMaxNormMovesByItsRate) {
  const std::string json =
      R"({"class_name": "MinMaxNorm",
          "config": {"min_value": 1, "max_value": 2, "rate": 0.5, "axis": [0, 2]}})";
  // Shape (2, 3, 1); the norms over the axes 0 and 2 are 5, 0.5 and 1.5.
  ExpectNear(Applied(json, {2, 3, 1}, {3, 0.3, 0, 4, 0.4, 1.5}),
             {3 * 3.5 / 5, 0.3 * 0.75 / 0.5, 0, 4 * 3.5 / 5, 0.4 * 0.75 / 0.5, 1.5});
}

TEST(ConstraintTest, RowsWithoutTheirNeighborsGiveTheSameBits) {
  const std::string json = R"({"class_name": "UnitNorm", "config": {"axis": [1]}})";
  const std::vector<float> values = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2};
  std::vector<float> both = Applied(json, {2, 3, 2}, {values.begin(), values.end()});
  const std::vector<float> first = Applied(json, {1, 3, 2}, {values.begin(), values.begin() + 6});
  const std::vector<float> second = Applied(json, {1, 3, 2}, {values.begin() + 6, values.end()});
  EXPECT_EQ(std::vector<float>(both.begin(), both.begin() + 6), first);
  EXPECT_EQ(std::vector<float>(both.begin() + 6, both.end()), second);
}

TEST(ConstraintTest, OnlyNormsOverTheFirstAxisNeedAllRows) {
  EXPECT_TRUE(Parse("\"max_norm\"")->needs_all_rows());
  EXPECT_TRUE(
      Parse(R"({"class_name": "UnitNorm", "config": {"axis": [1, -2]}})")->needs_all_rows());
  EXPECT_FALSE(Parse(R"({"class_name": "UnitNorm", "config": {"axis": -1}})")->needs_all_rows());
  EXPECT_FALSE(Parse("\"non_neg\"")->needs_all_rows());
}

TEST(ConstraintTest, WhatIsNotAConstraintIsRefused) {
  for (const char* bad : {"\"maxnorn\"", "7", "{}", R"({"class_name": 1})",
                          R"({"class_name": "NonNeg", "config": {"axis": 0}})",
                          R"({"class_name": "MaxNorm", "config": {"axis": 2}})",
                          R"({"class_name": "MaxNorm", "config": {"axis": 0.5}})",
                          R"({"class_name": "MaxNorm", "config": {"axis": [0, -2]}})",
                          R"({"class_name": "MaxNorm", "config": {"max_value": "x"}})",
                          R"({"class_name": "MaxNorm", "config": {"max_value": -1}})",
                          R"({"class_name": "MinMaxNorm", "config": {"rate": 2}})",
                          R"({"class_name": "MinMaxNorm", "config": {"min_value": 3}})"}) {
    EXPECT_EQ(Parse(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace cairn::nn
