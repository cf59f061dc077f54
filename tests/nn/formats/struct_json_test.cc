#include "nn/formats/struct_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json RoundTrip(const json& value) {
  return JsonFromValue(ValueFromJson(JsonNode(&value, "config")).value());
}

TEST(StructJsonTest, PlainValuesSurviveBothWays) {
  const json value = {{"units", 10},     {"rate", 0.5},    {"bias", true},
                      {"none", nullptr}, {"pool", {2, 2}}, {"empty", json::array()}};
  EXPECT_EQ(RoundTrip(value), value);
}

TEST(StructJsonTest, WholeNumbersArePrintedAsSuch) {
  EXPECT_EQ(RoundTrip(json(3.0)).dump(), "3");
  EXPECT_EQ(RoundTrip(json(1e-7)).dump(), "1e-07");
  EXPECT_EQ(RoundTrip(json(1e300)).dump(), "1e+300");
}

TEST(StructJsonTest, TakesKerasWrappersOff) {
  EXPECT_EQ(RoundTrip(json::parse(R"({"class_name": "__tuple__", "items": [2, 3]})")),
            json({2, 3}));
  EXPECT_EQ(RoundTrip(json::parse(R"({"class_name": "TensorShape", "items": [null, 4]})")),
            json({nullptr, 4}));
  EXPECT_EQ(RoundTrip(json::parse(R"({"module": "builtins", "class_name": "function",
                                      "config": "relu", "registered_name": "function"})")),
            json("relu"));
  EXPECT_EQ(RoundTrip(json::parse(R"({"module": "keras.initializers", "class_name": "HeNormal",
                                      "config": {"seed": 1}, "registered_name": null})")),
            json::parse(R"({"class_name": "HeNormal", "config": {"seed": 1}})"));
}

TEST(StructJsonTest, RefusesDeepNestingWithItsPlace) {
  json deep = 1;
  for (int i = 0; i < 17; ++i) deep = json::array({deep});
  const absl::Status status = ValueFromJson(JsonNode(&deep, "config")).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("config[0][0]"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("nested deeper than 16"));
}

TEST(StructJsonTest, TheDeepestValueStillTravelsInAMessage) {
  json deep = 1;
  for (int i = 0; i < 16; ++i) deep = {{"a", deep}};
  const google::protobuf::Value value = ValueFromJson(JsonNode(&deep, "config")).value();
  google::protobuf::Value received;
  EXPECT_TRUE(received.ParseFromString(value.SerializeAsString()));
}

}  // namespace
}  // namespace cairn::nn
