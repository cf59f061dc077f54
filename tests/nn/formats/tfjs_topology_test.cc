#include "nn/formats/tfjs_topology.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cairn::nn {
namespace {

using nlohmann::json;

proto::ModelSpec Spec() {
  proto::ModelSpec spec;
  spec.set_name("m");
  spec.add_layers()->set_name("x");
  spec.mutable_layers(0)->set_class_name("InputLayer");
  spec.add_layers()->set_name("f");
  spec.mutable_layers(1)->set_class_name("Flatten");
  spec.mutable_layers(1)->add_inputs("x");
  spec.add_inputs("x");
  spec.add_outputs("f");
  return spec;
}

TEST(TfjsTopologyTest, WritesAFunctionalModelWithItsConnections) {
  const json topology = TfjsTopology(Spec()).value();
  EXPECT_EQ(topology["class_name"], "Model");
  const json& config = topology["config"];
  EXPECT_EQ(config["layers"][0]["inbound_nodes"], json::array());
  EXPECT_EQ(config["layers"][1]["inbound_nodes"], json::parse(R"([[["x", 0, 0, {}]]])"));
  EXPECT_EQ(config["input_layers"], json::parse(R"([["x", 0, 0]])"));
  EXPECT_EQ(config["output_layers"], json::parse(R"([["f", 0, 0]])"));
}

TEST(TfjsTopologyTest, WritesALayerThatSharesVariablesAsACallOfTheirOwner) {
  proto::ModelSpec spec = Spec();
  proto::LayerSpec& again = *spec.add_layers();
  again = spec.layers(1);
  again.set_name("f:1");
  again.set_shares("f");
  again.set_infers(true);
  again.set_inputs(0, "f");
  spec.set_outputs(0, "f:1");
  const json topology = TfjsTopology(spec).value();
  const json& config = topology["config"];
  EXPECT_EQ(config["layers"].size(), 2);
  EXPECT_EQ(config["layers"][1]["inbound_nodes"],
            json::parse(R"([[["x", 0, 0, {}]], [["f", 0, 0, {"training": false}]]])"));
  EXPECT_EQ(config["output_layers"], json::parse(R"([["f", 1, 0]])"));
}

proto::ModelSpec SpecWithStates() {
  proto::ModelSpec spec = Spec();
  proto::LayerSpec& layer = *spec.mutable_layers(1);
  layer.set_class_name("SimpleRNN");
  (*layer.mutable_config()->mutable_fields())["return_state"].set_bool_value(true);
  proto::LayerSpec& state = *spec.add_layers();
  state.set_name("f.1");
  state.set_class_name("LayerOutput");
  (*state.mutable_config()->mutable_fields())["output"].set_number_value(1);
  state.add_inputs("f");
  proto::LayerSpec& decoder = *spec.add_layers();
  decoder.set_name("d");
  decoder.set_class_name("SimpleRNN");
  (*decoder.mutable_config()->mutable_fields())["ignores_mask"].set_bool_value(true);
  for (const char* input : {"x", "f.1"}) decoder.add_inputs(input);
  spec.set_outputs(0, "d");
  return spec;
}

TEST(TfjsTopologyTest, AStateIsAnOutputOfItsLayer) {
  const json topology = TfjsTopology(SpecWithStates()).value();
  const json& layers = topology["config"]["layers"];
  ASSERT_EQ(layers.size(), 3);
  EXPECT_EQ(layers[2]["inbound_nodes"], json::parse(R"([[["x", 0, 0, {}], ["f", 0, 1, {}]]])"));
  EXPECT_FALSE(layers[2]["config"].contains("ignores_mask"));
}

TEST(TfjsTopologyTest, RefusesAMaskThatTfjsWouldUse) {
  proto::ModelSpec spec = SpecWithStates();
  spec.mutable_layers(1)->set_class_name("Masking");
  EXPECT_EQ(TfjsTopology(spec).status().message(),
            "layer 'd' (SimpleRNN): Keras 3 ignores the mask of a layer with initial states and "
            "TF.js does not, so the exported model would compute something else");
}

TEST(TfjsTopologyTest, WritesASequentialModelAsAList) {
  proto::ModelSpec spec = Spec();
  spec.set_sequential(true);
  const json topology = TfjsTopology(spec).value();
  EXPECT_EQ(topology["class_name"], "Sequential");
  EXPECT_EQ(topology["config"]["layers"].size(), 2);
  EXPECT_FALSE(topology["config"]["layers"][1].contains("inbound_nodes"));
  EXPECT_FALSE(topology["config"].contains("input_layers"));
}

}  // namespace
}  // namespace cairn::nn
