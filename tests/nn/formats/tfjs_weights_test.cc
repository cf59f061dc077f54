#include "nn/formats/tfjs_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Bytes(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

json Weight(const std::string& name, const std::vector<int64_t>& shape) {
  return {{"name", name}, {"shape", shape}, {"dtype", "float32"}};
}

// One group in two files: weight "b" begins in one and ends in the other.
json Manifest() {
  json group;
  group["paths"] = {"group1-shard1of2.bin", "group1-shard2of2.bin"};
  group["weights"] = json::array({Weight("a", {2}), Weight("b", {1, 3})});
  return json::array({group});
}

std::vector<std::string> Files() {
  const std::string bytes = Bytes({1, 2, 3, 4, 5});
  return {bytes.substr(0, 11), bytes.substr(11)};
}

std::string ErrorOf(const json& manifest, const std::vector<std::string>& files) {
  return std::string(ReadWeights(JsonNode(&manifest, "m"), files).status().message());
}

TEST(TfjsWeightsTest, ReadsWeightsAcrossFiles) {
  const json manifest = Manifest();
  const auto weights = ReadWeights(JsonNode(&manifest, "m"), Files()).value();
  ASSERT_EQ(weights.size(), 2);
  EXPECT_EQ(weights[0].name, "a");
  EXPECT_THAT(weights[0].values, ElementsAre(1, 2));
  EXPECT_THAT(weights[1].shape, ElementsAre(1, 3));
  EXPECT_THAT(weights[1].values, ElementsAre(3, 4, 5));
}

TEST(TfjsWeightsTest, ReadsSeveralGroupsAndScalars) {
  json manifest = json::array();
  manifest.push_back({{"paths", {"one"}}, {"weights", json::array({Weight("a", {})})}});
  manifest.push_back({{"paths", {"two"}}, {"weights", json::array({Weight("b", {1})})}});
  const auto weights = ReadWeights(JsonNode(&manifest, "m"), {Bytes({7}), Bytes({8})}).value();
  EXPECT_THAT(weights[0].values, ElementsAre(7));
  EXPECT_THAT(weights[1].values, ElementsAre(8));
}

TEST(TfjsWeightsTest, ListsThePathsOfAllGroups) {
  const json manifest = Manifest();
  EXPECT_THAT(ReadWeightPaths(JsonNode(&manifest, "m")).value(),
              ElementsAre("group1-shard1of2.bin", "group1-shard2of2.bin"));
}

TEST(TfjsWeightsTest, RefusesPathsThatLeaveTheFolder) {
  for (const char* path : {"/etc/passwd", "../x.bin", "a/../../x", "", ".."}) {
    json manifest = Manifest();
    manifest[0]["paths"][1] = path;
    EXPECT_THAT(std::string(ReadWeightPaths(JsonNode(&manifest, "m")).status().message()),
                HasSubstr("m[0].paths[1]: '" + std::string(path) + "' is not a path inside"));
  }
}

TEST(TfjsWeightsTest, RefusesFilesOfAnotherSize) {
  EXPECT_THAT(ErrorOf(Manifest(), {Files()[0], ""}),
              HasSubstr("the files end inside weight 'b': 12 bytes wanted, 3 left"));
  EXPECT_THAT(ErrorOf(Manifest(), {Files()[0], Files()[1] + "xy"}),
              HasSubstr("the files hold 2 bytes more than the weights need"));
  EXPECT_THAT(ErrorOf(Manifest(), {Files()[0]}), HasSubstr("names 2 files, but 1 were read"));
}

TEST(TfjsWeightsTest, ReadsQuantizedWeights) {
  json group = {{"paths", {"one"}}};
  group["weights"] =
      json::array({Weight("a", {2}), Weight("b", {2}), Weight("c", {2}), Weight("d", {1})});
  group["weights"][0]["quantization"] = {{"dtype", "uint8"}, {"scale", 0.5}, {"min", -1}};
  group["weights"][1]["quantization"] = {{"dtype", "uint16"}, {"scale", 0.25}, {"min", 3.0}};
  group["weights"][2]["quantization"] = {{"dtype", "float16"}, {"original_dtype", "float32"}};
  const json manifest = json::array({group});
  // An odd number of bytes before them, as after a weight of uint8.
  const std::string bytes("\0\xff\1\0\xff\xff\0\x3c\0\xc5", 10);
  const auto weights = ReadWeights(JsonNode(&manifest, "m"), {bytes + Bytes({7})}).value();
  EXPECT_THAT(weights[0].values, ElementsAre(-1, 126.5));
  EXPECT_THAT(weights[1].values, ElementsAre(3.25, 3 + 65535 * 0.25));
  EXPECT_THAT(weights[2].values, ElementsAre(1, -5));
  EXPECT_THAT(weights[3].values, ElementsAre(7));
  EXPECT_THAT(ErrorOf(manifest, {bytes}), HasSubstr("the files end inside weight 'd'"));
}

TEST(TfjsWeightsTest, RejectsOtherTypesAndQuantizations) {
  json manifest = Manifest();
  manifest[0]["weights"][1]["quantization"] = {{"dtype", "int4"}, {"scale", 0.1}, {"min", 0}};
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("weight 'b' is quantized as int4; known: "));
  manifest[0]["weights"][1]["quantization"] = {{"dtype", "uint8"}, {"min", 0}};
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("quantization"));
  manifest[0]["weights"][1]["quantization"] = {{"dtype", "uint8"}, {"min", 0}, {"scale", "1"}};
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("scale: is not a number"));
  manifest = Manifest();
  manifest[0]["weights"][0]["dtype"] = "int32";
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("weight 'a' is int32; only float32"));
}

TEST(TfjsWeightsTest, RefusesShapesThatCannotBe) {
  json manifest = Manifest();
  manifest[0]["weights"][0]["shape"] = {4611686018427387904, 4};
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("weight 'a' is too large"));
  manifest[0]["weights"][0]["shape"] = {0};
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("shape[0]: is 0; it must be 1 or more"));
  manifest[0]["weights"][0]["shape"] = {-2};
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("shape[0]: is -2; it must be 1 or more"));
  manifest[0]["weights"][0]["shape"] = {1000000000000};
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("4000000000000 bytes wanted, 20 left"));
  manifest[0]["weights"][0]["shape"] = nullptr;
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("shape: is not a list"));
}

TEST(TfjsWeightsTest, RefusesTwoWeightsOfOneName) {
  json manifest = Manifest();
  manifest[0]["weights"][1]["name"] = "a";
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("weight 'a' appears twice"));
}

TEST(TfjsWeightsTest, RefusesMalformedManifests) {
  EXPECT_THAT(ErrorOf(json(3), {}), HasSubstr("m: is not a list"));
  EXPECT_THAT(ErrorOf(json::array({1}), {}), HasSubstr("m[0]: is not an object"));
  EXPECT_THAT(ErrorOf(json::array({json::object()}), {}), HasSubstr("m[0]: has no 'paths'"));
  json manifest = Manifest();
  manifest[0].erase("weights");
  EXPECT_THAT(ErrorOf(manifest, Files()), HasSubstr("m[0]: has no 'weights'"));
}

}  // namespace
}  // namespace cairn::nn
