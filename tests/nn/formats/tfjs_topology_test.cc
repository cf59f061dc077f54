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
