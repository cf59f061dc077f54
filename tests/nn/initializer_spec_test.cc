#include "nn/initializer_spec.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;
using Kind = InitializerSpec::Kind;
using Fan = InitializerSpec::Fan;
using Distribution = InitializerSpec::Distribution;

absl::StatusOr<InitializerSpec> Parse(const std::string& json) {
  google::protobuf::Value value;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &value).ok());
  return ParseInitializer(value);
}

std::string ErrorOf(const std::string& json) { return std::string(Parse(json).status().message()); }

TEST(InitializerSpecTest, ReadsNamesInBothOfKerasSpellings) {
  for (const char* name : {R"("glorot_uniform")", R"("GlorotUniform")"}) {
    const InitializerSpec spec = Parse(name).value();
    EXPECT_EQ(spec.kind, Kind::kVarianceScaling);
    EXPECT_EQ(spec.value, 1);
    EXPECT_EQ(spec.fan, Fan::kAverage);
    EXPECT_EQ(spec.distribution, Distribution::kUniform);
  }
}

TEST(InitializerSpecTest, ReadsWhatTensorFlowJsWritesForGlorotNormal) {
  const InitializerSpec spec = Parse(R"({"class_name": "VarianceScaling", "config": {"scale": 1,
      "mode": "fan_avg", "distribution": "normal", "seed": null}})")
                                   .value();
  EXPECT_EQ(spec.fan, Fan::kAverage);
  EXPECT_EQ(spec.distribution, Distribution::kTruncatedNormal);
}

TEST(InitializerSpecTest, ANullArgumentIsAbsent) {
  const InitializerSpec spec = Parse(R"({"class_name": "GlorotUniform", "config": {"seed": null,
      "input_axes": null, "output_axes": null}})")
                                   .value();
  EXPECT_EQ(spec.fan, Fan::kAverage);
  EXPECT_EQ(Parse(R"({"class_name": "HeNormal", "config": {"scale": null}})")->value, 2);
}

TEST(InitializerSpecTest, HasKerasDefaults) {
  EXPECT_EQ(Parse(R"("he_normal")")->value, 2);
  EXPECT_EQ(Parse(R"("he_normal")")->fan, Fan::kIn);
  EXPECT_EQ(Parse(R"("lecun_normal")")->value, 1);
  EXPECT_EQ(Parse(R"("RandomNormal")")->stddev, 0.05);
  EXPECT_EQ(Parse(R"("uniform")")->minimum, -0.05);
  EXPECT_EQ(Parse(R"("uniform")")->maximum, 0.05);
  EXPECT_EQ(Parse(R"("truncated_normal")")->kind, Kind::kTruncatedNormal);
  EXPECT_EQ(Parse(R"("VarianceScaling")")->distribution, Distribution::kTruncatedNormal);
  EXPECT_EQ(Parse(R"("zeros")")->value, 0);
  EXPECT_EQ(Parse(R"("one")")->value, 1);
  EXPECT_EQ(Parse(R"("orthogonal")")->value, 1);
}

TEST(InitializerSpecTest, ReadsArguments) {
  EXPECT_EQ(Parse(R"({"class_name": "Constant", "config": {"value": 0.5}})")->value, 0.5);
  EXPECT_EQ(Parse(R"({"class_name": "RandomNormal", "config": {"mean": 1, "seed": 3}})")->mean, 1);
  EXPECT_EQ(Parse(R"({"class_name": "Orthogonal", "config": {"gain": 2}})")->value, 2);
}

TEST(InitializerSpecTest, RefusesWhatItDoesNotKnowAndSaysWhatItKnows) {
  EXPECT_THAT(ErrorOf(R"("xavier")"),
              HasSubstr("unknown initializer 'xavier'; known: Zeros, Ones"));
  EXPECT_THAT(ErrorOf(R"({"class_name": "RandomNormal", "config": {"sigma": 1}})"),
              HasSubstr("RandomNormal: unknown argument 'sigma'; known: mean, stddev"));
  EXPECT_THAT(ErrorOf("3"), HasSubstr("a name or an object"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("a name or an object"));
}

TEST(InitializerSpecTest, RefusesArgumentsOfTheWrongTypeOrRange) {
  EXPECT_THAT(ErrorOf(R"({"class_name": "Constant", "config": {"value": "one"}})"),
              HasSubstr("'value' is not a number"));
  EXPECT_THAT(ErrorOf(R"({"class_name": "RandomNormal", "config": {"stddev": -1}})"),
              HasSubstr("'stddev' is negative"));
  EXPECT_THAT(ErrorOf(R"({"class_name": "VarianceScaling", "config": {"scale": 0}})"),
              HasSubstr("'scale' is not positive"));
  EXPECT_THAT(ErrorOf(R"({"class_name": "VarianceScaling", "config": {"mode": "fan"}})"),
              HasSubstr("'mode' is not fan_in"));
  EXPECT_THAT(ErrorOf(R"({"class_name": "RandomUniform", "config": {"minval": 1, "maxval": 0}})"),
              HasSubstr("'maxval' is less"));
}

}  // namespace
}  // namespace cairn::nn
