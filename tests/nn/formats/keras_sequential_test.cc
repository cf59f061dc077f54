#include "nn/formats/keras_sequential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kFlatten[] = R"({"class_name": "Flatten", "config": {"name": "flatten"}})";
constexpr char kInput[] =
    R"({"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, 2]}})";

absl::StatusOr<proto::ModelSpec> NoModel(const JsonNode& node) {
  return node.Error("no model is expected");
}

absl::StatusOr<proto::ModelSpec> Read(const std::string& text) {
  const json document = json::parse(text);
  return ReadKerasSequential(JsonNode(&document, "model"), NoModel);
}

std::string Model(const std::string& layers, const std::string& more = "") {
  return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [)" + layers + "]" +
         more + "}}";
}

std::string ErrorOf(const std::string& text) { return std::string(Read(text).status().message()); }

TEST(KerasSequentialTest, BecomesTheChainThatItMeans) {
  const proto::ModelSpec spec = Read(Model(std::string(kInput) + "," + kFlatten)).value();
  EXPECT_TRUE(spec.sequential());
  ASSERT_EQ(spec.layers_size(), 2);
  EXPECT_EQ(spec.layers(0).inputs_size(), 0);
  EXPECT_EQ(spec.layers(1).inputs(0), "in");
  EXPECT_EQ(spec.inputs(0), "in");
  EXPECT_EQ(spec.outputs(0), "flatten");
}

TEST(KerasSequentialTest, GetsAnInputLayerFromItsFirstLayersShape) {
  const proto::ModelSpec spec = Read(Model(R"({"class_name": "Dense",
      "config": {"name": "dense", "batch_input_shape": [null, 12]}})"))
                                    .value();
  EXPECT_EQ(spec.layers(0).class_name(), "InputLayer");
  EXPECT_EQ(spec.layers(0).name(), "dense_input");
  const auto& config = spec.layers(0).config().fields();
  EXPECT_EQ(config.at("batch_shape").list_value().values(1).number_value(), 12);
  EXPECT_EQ(config.at("dtype").string_value(), "float32");
}

TEST(KerasSequentialTest, AnEmbeddingThatComesFirstTakesWholeNumbers) {
  const proto::ModelSpec spec = Read(Model(R"({"class_name": "Embedding",
      "config": {"name": "e", "batch_input_shape": [null, 3]}})"))
                                    .value();
  EXPECT_EQ(spec.layers(0).config().fields().at("dtype").string_value(), "int32");
}

TEST(KerasSequentialTest, TheShapeMayBeThatOfTheBuiltModel) {
  EXPECT_TRUE(Read(Model(kFlatten, R"(, "build_input_shape": [null, 5])")).ok());
  EXPECT_TRUE(Read(R"({"class_name": "Sequential", "build_config": {"input_shape": [null, 5]},
                       "config": {"layers": [)" +
                   std::string(kFlatten) + "]}}")
                  .ok());
}

TEST(KerasSequentialTest, ReadsTheBareListOfOldKeras) {
  EXPECT_TRUE(Read(R"({"class_name": "Sequential", "config": [)" + std::string(kInput) + "," +
                   kFlatten + "]}")
                  .ok());
}

TEST(KerasSequentialTest, RefusesModelsWithoutShapeOrLayers) {
  EXPECT_THAT(ErrorOf(Model(kFlatten)),
              HasSubstr("the model has no input shape: give layer 'flatten' an input_shape"));
  EXPECT_THAT(ErrorOf(Model("")), HasSubstr("the model has no layers"));
  EXPECT_THAT(ErrorOf(Model(kInput)), HasSubstr("the model has no layers"));
  EXPECT_THAT(ErrorOf(R"({"config": {"layers": 3}})"), HasSubstr("config.layers: is not a list"));
}

TEST(KerasSequentialTest, RefusesAnInputLayerInTheMiddle) {
  EXPECT_THAT(ErrorOf(Model(std::string(kInput) + "," + kFlatten + "," + kInput)),
              HasSubstr("InputLayer 'in' is not the first layer"));
}

}  // namespace
}  // namespace cairn::nn
