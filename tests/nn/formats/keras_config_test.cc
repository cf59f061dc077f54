#include "nn/formats/keras_config.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nn/formats/keras_json.h"
#include "tests/nn/formats/testdata.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<KerasConfig> Written(const proto::ModelSpec& spec) {
  return WriteKerasConfig(spec, **Model::Create(spec));
}

TEST(KerasConfigTest, WhatIsWrittenReadsAsTheSame) {
  for (const char* file :
       {"keras3_functional.json", "keras3_sequential.json", "keras3_states.json"}) {
    const proto::ModelSpec spec = ReadKerasJson(Testdata(file)).value();
    const auto written = Written(spec);
    ASSERT_TRUE(written.ok()) << written.status();
    const auto read = ReadKerasJson(written->json);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*read, spec))
        << read->DebugString() << spec.DebugString();
  }
}

// Two branches, of which the longer one is met last. Keras has its layers first.
TEST(KerasConfigTest, LayersAreInTheOrderOfKeras) {
  const auto spec = ReadKerasJson(R"({"class_name": "Functional", "config": {"name": "m",
    "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]},
       "inbound_nodes": []},
      {"class_name": "Dense", "config": {"name": "short", "units": 2},
       "inbound_nodes": [[["i", 0, 0, {}]]]},
      {"class_name": "Dense", "config": {"name": "long", "units": 2},
       "inbound_nodes": [[["i", 0, 0, {}]]]},
      {"class_name": "Dense", "config": {"name": "longer", "units": 2},
       "inbound_nodes": [[["long", 0, 0, {}]]]},
      {"class_name": "Add", "config": {"name": "sum"},
       "inbound_nodes": [[["short", 0, 0, {}], ["longer", 0, 0, {}]]]}],
    "input_layers": [["i", 0, 0]], "output_layers": [["sum", 0, 0]]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(Written(*spec)->layers, ElementsAre(0, 2, 1, 3, 4));
}

TEST(KerasConfigTest, RefusesWhatKeras3DoesNotHave) {
  const auto spec = ReadKerasJson(R"({"class_name": "Sequential", "keras_version": "2.15.0",
    "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}},
      {"class_name": "Dense", "config": {"name": "d", "units": 1,
                                         "activation": "hard_sigmoid"}}]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(std::string(Written(*spec).status().message()),
              HasSubstr("layer 'd' (Dense): Keras 3 has no hard_sigmoid of Keras 2"));
}

TEST(KerasConfigTest, AnOperationOfASequentialModelMakesItAFunctionalOne) {
  const auto spec =
      ReadKerasJson(R"({"class_name": "Sequential", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}},
      {"class_name": "Erf", "config": {"name": "e"}},
      {"class_name": "Floor", "config": {"name": "f"}}]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const auto written = nlohmann::json::parse(Written(*spec)->json);
  EXPECT_EQ(written["class_name"], "Functional");
  EXPECT_EQ(written["config"]["layers"][1]["module"], "keras.src.ops.math");
  EXPECT_EQ(written["config"]["layers"][2]["module"], "keras.src.ops.numpy");
}

TEST(KerasConfigTest, RefusesOperationsAsActivations) {
  const auto spec =
      ReadKerasJson(R"({"class_name": "Sequential", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}},
      {"class_name": "Dense", "config": {"name": "d", "units": 1, "activation": "erf"}}]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(
      std::string(Written(*spec).status().message()),
      HasSubstr("layer 'd' (Dense): Keras has no activation 'erf'; a layer Erf computes it"));
}

}  // namespace
}  // namespace cairn::nn
