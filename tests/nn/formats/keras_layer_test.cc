#include "nn/formats/keras_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nn/formats/struct_json.h"

namespace cairn::nn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

absl::StatusOr<proto::LayerSpec> Read(const std::string& text) {
  const json document = json::parse(text);
  return ReadKerasLayer(JsonNode(&document, "layer"));
}

std::string ErrorOf(const std::string& text) { return std::string(Read(text).status().message()); }

json ConfigOf(const std::string& text) {
  google::protobuf::Value value;
  *value.mutable_struct_value() = Read(text).value().config();
  return JsonFromValue(value);
}

TEST(KerasLayerTest, KeepsArgumentsAndLeavesOutWhatStandsElsewhere) {
  const std::string text = R"({"class_name": "Dense", "config": {"name": "d", "units": 3,
      "dtype": "float32", "batch_input_shape": [null, 2], "kernel_constraint": null,
      "kernel_initializer": null, "activation": "relu"}})";
  const proto::LayerSpec layer = Read(text).value();
  EXPECT_EQ(layer.name(), "d");
  EXPECT_EQ(layer.class_name(), "Dense");
  EXPECT_EQ(ConfigOf(text), json::parse(R"({"units": 3, "activation": "relu",
                                            "kernel_initializer": null})"));
}

TEST(KerasLayerTest, InputLayersOfBothKerasVersionsComeOutAlike) {
  const json expected = json::parse(R"({"batch_shape": [null, 4], "dtype": "int32"})");
  EXPECT_EQ(ConfigOf(R"({"class_name": "InputLayer", "config": {"name": "x", "dtype": "int32",
      "batch_input_shape": [null, 4], "sparse": false, "ragged": false}})"),
            expected);
  EXPECT_EQ(ConfigOf(R"({"class_name": "InputLayer", "config": {"name": "x", "dtype": "int32",
      "batch_shape": [32, 4], "sparse": false, "optional": false}})"),
            expected);
}

TEST(KerasLayerTest, ReadsADtypePolicy) {
  const std::string policy = R"({"module": "keras", "class_name": "DTypePolicy",
      "config": {"name": ")";
  const std::string layer = R"({"class_name": "Flatten", "config": {"name": "f", "dtype": )";
  EXPECT_TRUE(Read(layer + policy + "float32\"}}}}").ok());
  EXPECT_EQ(ConfigOf(layer + policy + "mixed_float16\"}}}}"), json::object());
  EXPECT_EQ(ConfigOf(layer + policy + "mixed_bfloat16\"}}}}"), json::object());
  EXPECT_EQ(ErrorOf(layer + policy + "float16\"}}}}"),
            "layer.config: layer 'f' has dtype 'float16'; only float32 is supported");
}

TEST(KerasLayerTest, OneAxisInAListIsThatAxis) {
  EXPECT_EQ(ConfigOf(R"({"class_name": "BatchNormalization",
                         "config": {"name": "b", "axis": [3]}})"),
            json::parse(R"({"axis": 3})"));
}

TEST(KerasLayerTest, RefusesNestedModelsByName) {
  EXPECT_THAT(ErrorOf(R"({"class_name": "Functional", "config": {"name": "base"}})"),
              HasSubstr("layer 'base' is itself a model (Functional)"));
  EXPECT_THAT(ErrorOf(R"({"class_name": "MyModel", "config": {"name": "m", "layers": []}})"),
              HasSubstr("layer 'm' is itself a model (MyModel)"));
}

TEST(KerasLayerTest, RefusesMalformedLayers) {
  EXPECT_EQ(ErrorOf("3"), "layer: is not an object, but 3");
  EXPECT_EQ(ErrorOf("{}"), "layer: has no 'class_name'");
  EXPECT_EQ(ErrorOf(R"({"class_name": 1})"), "layer.class_name: is not a string, but 1");
  EXPECT_EQ(ErrorOf(R"({"class_name": "Dense"})"), "layer: has no 'config'");
  EXPECT_EQ(ErrorOf(R"({"class_name": "Dense", "config": []})"), "layer.config: is not an object");
  EXPECT_EQ(ErrorOf(R"({"class_name": "Dense", "config": {}})"), "layer.config: has no 'name'");
  EXPECT_EQ(ErrorOf(R"({"class_name": "Dense", "config": {"name": ""}})"),
            "layer.config.name: is empty");
}

absl::StatusOr<CalledLayer> ReadStack(const std::string& arguments, const std::string& cells) {
  const json document = json::parse(R"({"class_name": "RNN", "config": {"name": "r", )" +
                                    arguments + R"("cell": {"class_name": "StackedRNNCells",
                                    "config": {"cells": )" +
                                    cells + "}}}}");
  return ReadLayerOrModel(JsonNode(&document, "layer"),
                          [](const JsonNode& node) { return node.Error("is a model"); });
}

TEST(KerasLayerTest, AStackOfCellsIsARnnForEach) {
  const auto stack = ReadStack(R"("go_backwards": true, "activity_regularizer": "l2", )",
                               R"([{"class_name": "GRUCell", "config": {"name": "a", "units": 2}},
                                   {"class_name": "LSTMCell", "config": {"units": 3}},
                                   {"class_name": "GRUCell", "config": {"name": "a"}}])");
  ASSERT_TRUE(stack.ok()) << stack.status();
  EXPECT_TRUE(stack->is_model);
  EXPECT_EQ(stack->name, "r");
  ASSERT_EQ(stack->body.layers_size(), 4);
  const auto flag = [&](int layer, const char* argument) {
    const auto& fields = stack->body.layers(layer).config().fields();
    return fields.contains(argument) && fields.at(argument).bool_value();
  };
  const char* const names[] = {"a", "r:cell", "a_"};
  for (int i = 1; i <= 3; ++i) {
    const proto::LayerSpec& layer = stack->body.layers(i);
    EXPECT_EQ(layer.name(), names[i - 1]);
    EXPECT_EQ(layer.class_name(), "RNN");
    EXPECT_EQ(layer.inputs(0), stack->body.layers(i - 1).name());
    EXPECT_EQ(flag(i, "go_backwards"), i == 1);
    EXPECT_EQ(flag(i, "reverses_mask"), i > 1);
    EXPECT_EQ(flag(i, "return_sequences"), i < 3);
    EXPECT_EQ(layer.config().fields().contains("activity_regularizer"), i == 3);
  }
  EXPECT_EQ(stack->body.outputs(0), "a_");
}

TEST(KerasLayerTest, RefusesTheStatesOfAStackAndOtherStacks) {
  EXPECT_THAT(std::string(ReadStack(R"("return_state": true, )", "[{}]").status().message()),
              HasSubstr("layer: layer 'r' has return_state, which is not supported for a stack"));
  // These are left to the layer, which refuses them.
  for (const char* cells : {"[]", "3", "{}"}) {
    EXPECT_FALSE(ReadStack("", cells).value().is_model) << cells;
  }
  EXPECT_TRUE(ReadStack("", R"([3, {"config": 3}])").value().is_model);
}

TEST(KerasLayerTest, RefusesInputsThatItCannotFeed) {
  const auto input = [](const std::string& arguments) {
    return ErrorOf(R"({"class_name": "InputLayer", "config": {"name": "x", )" + arguments + "}}");
  };
  EXPECT_THAT(input(R"("dtype": "float32")"), HasSubstr("has no 'batch_shape'"));
  EXPECT_THAT(input(R"("batch_shape": [])"), HasSubstr("is not a shape"));
  EXPECT_THAT(input(R"("batch_shape": 4)"), HasSubstr("is not a shape"));
  for (const char* shape : {"[null, 0]", "[null, -1]", "[null, 1.5]", "[null, \"a\"]",
                            "[null, 3000000000]", "[null, [2]]"}) {
    EXPECT_THAT(input(std::string("\"batch_shape\": ") + shape),
                HasSubstr("neither null nor a whole number from 1 to 2147483647"));
  }
  EXPECT_THAT(input(R"("batch_shape": [null, 2], "dtype": "complex64")"),
              HasSubstr("input 'x' is of dtype 'complex64'; known: float32"));
  EXPECT_THAT(input(R"("batch_shape": [null, 2], "sparse": true)"),
              HasSubstr("layer.config.sparse: is not supported for an InputLayer"));
}

}  // namespace
}  // namespace cairn::nn
