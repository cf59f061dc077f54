#include "nn/formats/keras_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Sequential() {
  return json::parse(R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "Flatten", "config": {"name": "f", "batch_input_shape": [null, 2]}}]}})");
}

absl::StatusOr<proto::ModelSpec> Read(const json& model) {
  return ReadKerasTopology(JsonNode(&model, "model"));
}

std::string ErrorOf(const json& model) { return std::string(Read(model).status().message()); }

TEST(KerasTopologyTest, ReadsAModelInItsWrapping) {
  EXPECT_EQ(Read(Sequential()).value().name(), "s");
  EXPECT_EQ(Read({{"model_config", Sequential()}, {"backend", "tensorflow"}}).value().name(), "s");
}

TEST(KerasTopologyTest, AFrozenModelFreezesItsLayers) {
  json model = Sequential();
  model["config"]["trainable"] = false;
  const proto::ModelSpec spec = Read(model).value();
  EXPECT_EQ(spec.layers(0).config().fields().count("trainable"), 0);
  EXPECT_EQ(spec.layers(1).config().fields().at("trainable").bool_value(), false);
}

TEST(KerasTopologyTest, TheHardSigmoidOfKeras2IsAnother) {
  json model = Sequential();
  json& config = model["config"]["layers"][0]["config"];
  config["activation"] = "hard_sigmoid";
  config["layer"] = {{"class_name", "LSTM"},
                     {"config", {{"recurrent_activation", "hard_sigmoid"}}}};
  const auto activation = [&model] {
    return Read(model).value().layers(1).config().fields().at("activation").string_value();
  };
  EXPECT_EQ(activation(), "hard_sigmoid");
  model["keras_version"] = "3.3.3";
  EXPECT_EQ(activation(), "hard_sigmoid");
  for (const char* version : {"2.15.0", "tfjs-layers 4.22.0"}) {
    model["keras_version"] = version;
    EXPECT_EQ(activation(), "hard_sigmoid_keras2");
    EXPECT_THAT(Read(model).value().layers(1).config().fields().at("layer").ShortDebugString(),
                HasSubstr("hard_sigmoid_keras2"));
  }
}

TEST(KerasTopologyTest, AveragePoolingOfTensorFlowJsHasItsGradient) {
  json model = Sequential();
  model["config"]["layers"][0]["class_name"] = "AveragePooling2D";
  const auto is_of_tfjs = [&model] {
    return Read(model).value().layers(1).config().fields().contains("gradient_of_tfjs");
  };
  for (const char* version : {"2.15.0", "3.15.1"}) {
    model["keras_version"] = version;
    EXPECT_FALSE(is_of_tfjs()) << version;
  }
  model["keras_version"] = "tfjs-layers 4.22.0";
  EXPECT_TRUE(is_of_tfjs());
}

TEST(KerasTopologyTest, RefusesSubclassedModels) {
  json model = Sequential();
  model["class_name"] = "MyModel";
  EXPECT_THAT(ErrorOf(model), HasSubstr("class_name 'MyModel' is not Sequential, Functional"));
}

TEST(KerasTopologyTest, RefusesTwoLayersOfOneName) {
  json model = Sequential();
  model["config"]["layers"].push_back(model["config"]["layers"][0]);
  EXPECT_EQ(ErrorOf(model), "model: two layers have the name 'f'");
}

TEST(KerasTopologyTest, RefusesWhatIsNoModel) {
  EXPECT_EQ(ErrorOf(json(3)), "model: is not an object, but 3");
  EXPECT_EQ(ErrorOf(json::object()), "model: has no 'class_name'");
  EXPECT_EQ(ErrorOf({{"class_name", "Sequential"}}), "model: has no 'config'");
}

}  // namespace
}  // namespace cairn::nn
