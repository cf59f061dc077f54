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
  return ReadKerasFunctional(JsonNode(&model, "model"), [](const JsonNode& node) {
    return absl::StatusOr<proto::ModelSpec>(node.Error("no model is expected"));
  });
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

TEST(KerasFunctionalTest, OnlyImageLayersMayBeCalledWithTraining) {
  json model = Model();
  json& layer = model["config"]["layers"][0];
  layer["inbound_nodes"][0][0][3]["training"] = true;
  EXPECT_THAT(ErrorOf(model), HasSubstr("layer 'c' is called with training=True"));
  layer["class_name"] = "RandomFlip";
  EXPECT_TRUE(Read(model).ok());
}

// {"args": [a tensor of `layer`], "kwargs": {"training": training}}, as Keras 3 writes a call.
json CallOf(const char* layer, bool training) {
  const json tensor = {{"class_name", "__keras_tensor__"},
                       {"config", {{"shape", {nullptr, 4}}, {"keras_history", {layer, 0, 0}}}}};
  return {{"args", {tensor}}, {"kwargs", {{"training", training}}}};
}

TEST(KerasFunctionalTest, InferenceThatIsOnlyADefaultOfKeras3IsTrained) {
  for (const auto& [class_name, infers] : {std::pair("Dropout", false),
                                           {"GaussianNoise", false},
                                           {"LSTM", false},
                                           {"Attention", false},
                                           {"BatchNormalization", true},
                                           {"Bidirectional", true}}) {
    json model = Model();
    json& layer = model["config"]["layers"][0];
    layer["class_name"] = class_name;
    layer["inbound_nodes"] = json::array({CallOf("b", false)});
    EXPECT_EQ(Read(model)->layers(2).infers(), infers) << class_name;
    // Keras 2 writes what the program says, and nothing else.
    layer["inbound_nodes"] = json::parse(R"([[["b", 0, 0, {"training": false}]]])");
    EXPECT_TRUE(Read(model)->layers(2).infers()) << class_name;
  }
}

TEST(KerasFunctionalTest, ReadsSeveralOutputsInOrder) {
  json model = Model();
  model["config"]["output_layers"].push_back({"a", 0, 0});
  const proto::ModelSpec spec = Read(model).value();
  ASSERT_EQ(spec.outputs_size(), 2);
  EXPECT_EQ(spec.outputs(0), "c");
  EXPECT_EQ(spec.outputs(1), "a");
}

TEST(KerasFunctionalTest, LeavesOutWhatMakesMasks) {
  json model = Model();
  model["config"]["layers"].push_back(json::parse(
      R"({"class_name": "NotEqual", "config": {"name": "m"}, "inbound_nodes": [[["a", 0, 0]]]})"));
  model["config"]["layers"][0]["inbound_nodes"] =
      json::parse(R"([[["b", 0, 0, {"mask": ["m", 0, 0]}], ["a", 0, 0, {}]]])");
  EXPECT_EQ(Read(model).value().layers_size(), 3);
  model["config"]["layers"][0]["inbound_nodes"] =
      json::parse(R"([[["b", 0, 0, {"mask": ["a", 0, 0]}], ["a", 0, 0, {}]]])");
  EXPECT_THAT(ErrorOf(model), HasSubstr("layer 'c' is called with a mask from 'a'"));
}

// Keras 3 writes a mask that the script computes like the one that the layers make.
TEST(KerasFunctionalTest, RefusesAMaskThatNoLayerMakes) {
  const auto tensor = [](const std::string& layer) {
    return R"({"class_name": "__keras_tensor__",
               "config": {"shape": [null, 4], "keras_history": [")" +
           layer + R"(", 0, 0]}})";
  };
  json model = json::parse(R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "name": "ids",
     "config": {"name": "ids", "batch_shape": [null, 4], "dtype": "int32"}, "inbound_nodes": []},
    {"class_name": "Embedding", "name": "table",
     "config": {"name": "table", "input_dim": 9, "output_dim": 2, "mask_zero": true},
     "inbound_nodes": [{"args": [)" +
                           tensor("ids") + R"(], "kwargs": {}}]},
    {"class_name": "NotEqual", "name": "mask", "config": {"name": "mask"},
     "inbound_nodes": [{"args": [)" +
                           tensor("ids") + R"(, 0], "kwargs": {}}]},
    {"class_name": "GlobalAveragePooling1D", "name": "mean", "config": {"name": "mean"},
     "inbound_nodes": [{"args": [)" +
                           tensor("table") + R"(],
                        "kwargs": {"mask": )" +
                           tensor("mask") + R"(}}]}],
    "input_layers": [["ids", 0, 0]], "output_layers": [["mean", 0, 0]]}})");
  EXPECT_EQ(Read(model).value().layers_size(), 3);
  model["config"]["layers"][1]["config"]["mask_zero"] = false;
  EXPECT_THAT(ErrorOf(model),
              HasSubstr("layer 'mean' is called with a mask from 'mask'; only what mask_zero and "
                        "Masking make is supported"));
}

TEST(KerasFunctionalTest, RefusesEndsThatAreNotThere) {
  json model = Model();
  model["config"]["input_layers"] = json::array();
  EXPECT_THAT(ErrorOf(model), HasSubstr("the model has no inputs"));
  model["config"]["input_layers"] = {{"c", 0, 0}};
  EXPECT_THAT(ErrorOf(model), HasSubstr("there is no InputLayer 'c'"));
  model["config"]["input_layers"] = {{"z", 0, 0}};
  EXPECT_THAT(ErrorOf(model), HasSubstr("there is no InputLayer 'z'"));
  model = Model();
  model["config"]["output_layers"] = json::array();
  EXPECT_THAT(ErrorOf(model), HasSubstr("the model has no outputs"));
  model["config"]["output_layers"] = {{"c", 0, 1}};
  EXPECT_THAT(ErrorOf(model), HasSubstr("layer 'c' has no output 1 of call 0"));
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
  EXPECT_THAT(ErrorOf(model), HasSubstr("config.layers[0]: there is no layer 'z'"));
}

}  // namespace
}  // namespace cairn::nn
