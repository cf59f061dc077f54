#include "nn/formats/keras_functional.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Two inputs, concatenated.
json Model() {
  return json::parse(R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "Concatenate", "name": "c", "config": {"name": "c", "axis": -1},
     "inbound_nodes": [[["b", 0, 0, {}], ["a", 0, 0, {}]]]},
    {"class_name": "InputLayer", "name": "a",
     "config": {"name": "a", "batch_input_shape": [null, 2], "dtype": "float32"},
     "inbound_nodes": []},
    {"class_name": "InputLayer", "name": "b",
     "config": {"name": "b", "batch_input_shape": [null, 3], "dtype": "float32"},
     "inbound_nodes": []}],
    "input_layers": [["b", 0, 0], ["a", 0, 0]], "output_layers": [["c", 0, 0]]}})");
}

absl::StatusOr<proto::ModelSpec> Read(const json& model) {
  return ReadKerasFunctional(JsonNode(&model, "model"));
}

std::string ErrorOf(const json& model) { return std::string(Read(model).status().message()); }

TEST(KerasFunctionalTest, KeepsTheOrderOfInputsAndSortsLayers) {
  const proto::ModelSpec spec = Read(Model()).value();
  EXPECT_FALSE(spec.sequential());
  EXPECT_EQ(spec.layers(0).name(), "a");
  EXPECT_EQ(spec.layers(2).name(), "c");
  EXPECT_EQ(spec.layers(2).inputs(0), "b");
  EXPECT_EQ(spec.layers(2).inputs(1), "a");
  EXPECT_EQ(spec.inputs(0), "b");
  EXPECT_EQ(spec.inputs(1), "a");
  EXPECT_EQ(spec.outputs(0), "c");
}

TEST(KerasFunctionalTest, RefusesSeveralOutputs) {
  json model = Model();
  model["config"]["output_layers"].push_back({"a", 0, 0});
  EXPECT_EQ(ErrorOf(model),
            "model.config.output_layers: the model has 2 outputs; exactly one is supported");
}

TEST(KerasFunctionalTest, RefusesEndsThatAreNotThere) {
  json model = Model();
  model["config"]["input_layers"] = json::array();
  EXPECT_THAT(ErrorOf(model), HasSubstr("the model has no inputs"));
  model["config"]["input_layers"] = {{"c", 0, 0}};
  EXPECT_THAT(ErrorOf(model), HasSubstr("layer 'c' is no InputLayer"));
  model["config"]["input_layers"] = {{"z", 0, 0}};
  EXPECT_THAT(ErrorOf(model), HasSubstr("there is no layer 'z'"));
  model = Model();
  model["config"].erase("output_layers");
  EXPECT_EQ(ErrorOf(model), "model.config: has no 'output_layers'");
}

TEST(KerasFunctionalTest, RefusesLayersThatAreNotConnected) {
  json model = Model();
  model["config"]["layers"][0]["inbound_nodes"] = json::array();
  EXPECT_THAT(ErrorOf(model), HasSubstr("layer 'c' has no inputs"));
  model = Model();
  model["config"]["layers"][1]["inbound_nodes"] = {{{"b", 0, 0}}};
  EXPECT_THAT(ErrorOf(model), HasSubstr("InputLayer 'a' has inputs"));
  model = Model();
  model["config"]["layers"][0]["inbound_nodes"] = {{{"z", 0, 0}}};
  EXPECT_THAT(ErrorOf(model), HasSubstr("layer 'c' has input 'z', which is no layer"));
}

}  // namespace
}  // namespace cairn::nn
