#include "nn/formats/tfjs_layers.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "nn/formats/keras_json.h"
#include "tests/nn/formats/testdata.h"

namespace cairn::nn {
namespace {

using google::protobuf::util::MessageDifferencer;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void ExpectSame(const ImportedModel& a, const ImportedModel& b) {
  EXPECT_TRUE(MessageDifferencer::Equals(a.spec, b.spec))
      << a.spec.DebugString() << b.spec.DebugString();
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (size_t i = 0; i < a.weights.size(); ++i) {
    EXPECT_EQ(a.weights[i].name, b.weights[i].name);
    EXPECT_EQ(a.weights[i].shape, b.weights[i].shape);
    EXPECT_EQ(a.weights[i].values, b.weights[i].values);
  }
}

ImportedModel WrittenAndRead(const ImportedModel& model) {
  const auto files = WriteTfjsLayersModel(model.spec, model.weights).value();
  EXPECT_THAT(TfjsWeightFiles(files[1]).value(), ElementsAre("weights.bin"));
  return ReadTfjsLayersModel(files[1], {files[0]}).value();
}

TEST(TfjsLayersTest, WhatIsWrittenReadsAsTheSame) {
  for (const char* file : {"keras2_functional.json", "keras3_functional.json"}) {
    ImportedModel model;
    model.spec = ReadKerasJson(Testdata(file)).value();
    model.weights = {{"dense/kernel", {2, 2}, {1, 2, 3, 4}}, {"dense/bias", {2}, {-1, 0.5}}};
    ExpectSame(WrittenAndRead(model), model);
  }
}

TEST(TfjsLayersTest, ModelsThatTensorFlowJsWroteSurviveTheRoundTrip) {
  const char* oracle = std::getenv("CAIRN_ORACLE");
  if (oracle == nullptr) GTEST_SKIP() << "CAIRN_ORACLE names no reference runs";
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(oracle)) {
    const std::string folder = entry.path().string() + "/model/";
    if (!std::filesystem::exists(folder)) continue;
    const std::string text = ReadFile(folder + "model.json");
    ASSERT_THAT(TfjsWeightFiles(text).value(), ElementsAre("weights.bin"));
    auto model = ReadTfjsLayersModel(text, {ReadFile(folder + "weights.bin")});
    ASSERT_TRUE(model.ok()) << folder << ": " << model.status();
    // What Cairn writes is not TensorFlow.js's any more, and has Keras's gradient.
    for (proto::LayerSpec& layer : *model->spec.mutable_layers()) {
      layer.mutable_config()->mutable_fields()->erase("gradient_of_tfjs");
    }
    ExpectSame(WrittenAndRead(*model), *model);
    ++models;
  }
  EXPECT_GE(models, 8);
}

TEST(TfjsLayersTest, ATopologyAloneHasNoWeights) {
  const std::string text = R"({"modelTopology": )" + Testdata("keras2_sequential.json") + "}";
  EXPECT_TRUE(TfjsWeightFiles(text).value().empty());
  EXPECT_TRUE(ReadTfjsLayersModel(text, {}).value().weights.empty());
}

TEST(TfjsLayersTest, RefusesGraphModels) {
  const std::string graph = R"({"format": "graph-model", "modelTopology": {"node": []}})";
  EXPECT_THAT(std::string(TfjsWeightFiles(graph).status().message()),
              HasSubstr("model.format: is not 'layers-model'"));
  EXPECT_FALSE(ReadTfjsLayersModel(graph, {}).ok());
}

TEST(TfjsLayersTest, RefusesAModelWithoutTopology) {
  EXPECT_THAT(std::string(ReadTfjsLayersModel(R"({"weightsManifest": []})", {}).status().message()),
              HasSubstr("model: has no 'modelTopology'"));
}

TEST(TfjsLayersTest, RefusesToWriteWeightsThatDoNotFillTheirShape) {
  const proto::ModelSpec spec = ReadKerasJson(Testdata("keras2_sequential.json")).value();
  EXPECT_THAT(
      std::string(WriteTfjsLayersModel(spec, {{"w", {2, 2}, {1, 2, 3}}}).status().message()),
      HasSubstr("weight 'w' has 3 values, which do not fill its shape"));
  EXPECT_FALSE(WriteTfjsLayersModel(spec, {{"w", {0}, {}}}).ok());
}

}  // namespace
}  // namespace cairn::nn
