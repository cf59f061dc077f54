#include "nn/formats/keras_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nn/model.h"

namespace cairn::nn {
namespace {

TEST(KerasWeightsTest, LayersOfAClassAreNumbered) {
  KerasLayerNumbers numbers;
  EXPECT_EQ(numbers.Next("Dense"), "dense");
  EXPECT_EQ(numbers.Next("Conv2D"), "conv2d");
  EXPECT_EQ(numbers.Next("Dense"), "dense_1");
  EXPECT_EQ(numbers.Next("PReLU"), "p_re_lu");
  EXPECT_EQ(numbers.Next("LSTM"), "lstm");
  EXPECT_EQ(numbers.Next("SimpleRNN"), "simple_rnn");
  EXPECT_EQ(numbers.Next("MultiHeadAttention"), "multi_head_attention");
  EXPECT_EQ(numbers.Next("GlobalAveragePooling2D"), "global_average_pooling2d");
  EXPECT_EQ(numbers.Next("Conv2DTranspose"), "conv2d_transpose");
  EXPECT_EQ(numbers.Next("Dense"), "dense_2");
}

// A Dense, and a model of two that has one of the same name.
nlohmann::json Nested() {
  return nlohmann::json::parse(R"({"class_name": "Sequential", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}},
    {"class_name": "Dense", "config": {"name": "a", "units": 2}},
    {"class_name": "Sequential", "config": {"name": "inner", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}},
      {"class_name": "Dense", "config": {"name": "a", "units": 2}},
      {"class_name": "LSTM", "config": {"name": "l", "units": 2}}]}}]}})");
}

TEST(KerasWeightsTest, LayersOfNestedModelsHaveTheirPlaces) {
  auto document = Nested();
  document["config"]["layers"][2]["config"]["layers"].erase(2);
  const auto model = ReadPlacedModel(document, "config.json");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->places.size(), 2);
  EXPECT_EQ(model->places[0].layer, "a");
  EXPECT_EQ(model->places[0].path, "layers/dense");
  EXPECT_EQ(model->places[0].top, "a");
  EXPECT_EQ(model->places[1].layer, "inner/a");
  EXPECT_EQ(model->places[1].path, "layers/sequential/layers/dense");
  EXPECT_EQ(model->places[1].top, "inner");
  // Nothing of the search is left.
  EXPECT_TRUE(Model::Create(model->spec).ok()) << Model::Create(model->spec).status();
}

TEST(KerasWeightsTest, CellsOfAStackHaveTheirPlaces) {
  const auto model = ReadPlacedModel(nlohmann::json::parse(R"({"class_name": "Sequential",
    "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 3, 2]}},
      {"class_name": "RNN", "config": {"name": "r", "cell": {"class_name": "StackedRNNCells",
        "config": {"cells": [
          {"class_name": "GRUCell", "config": {"name": "low", "units": 2}},
          {"class_name": "GRUCell", "config": {"name": "high", "units": 3}}]}}}}]}})"),
                                     "config.json");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->places.size(), 2);
  EXPECT_EQ(model->places[0].layer, "low");
  EXPECT_EQ(model->places[0].path, "layers/rnn/cell/cells/gru_cell");
  EXPECT_EQ(model->places[1].layer, "high");
  EXPECT_EQ(model->places[1].path, "layers/rnn/cell/cells/gru_cell_1");
  EXPECT_EQ(model->places[1].top, "r");
  EXPECT_TRUE(Model::Create(model->spec).ok()) << Model::Create(model->spec).status();
}

TEST(KerasWeightsTest, ErrorsNameTheDocument) {
  for (const char* text : {"[]", "{}", R"({"class_name": 1, "config": []})",
                           R"({"class_name": "Sequential", "config": [1, {"class_name": 2}]})"}) {
    const auto model = ReadPlacedModel(nlohmann::json::parse(text), "config.json");
    EXPECT_TRUE(absl::IsInvalidArgument(model.status()));
    EXPECT_THAT(std::string(model.status().message()), testing::StartsWith("config.json"));
  }
}

}  // namespace
}  // namespace cairn::nn
