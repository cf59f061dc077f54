#include "nn/formats/topological_order.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cairn::nn {
namespace {

using Layers = std::vector<std::pair<std::string, std::vector<std::string>>>;

proto::ModelSpec Spec(const Layers& layers) {
  proto::ModelSpec spec;
  for (const auto& [name, inputs] : layers) {
    proto::LayerSpec& layer = *spec.add_layers();
    layer.set_name(name);
    for (const std::string& input : inputs) layer.add_inputs(input);
  }
  return spec;
}

std::string Sorted(const Layers& layers) {
  proto::ModelSpec spec = Spec(layers);
  if (absl::Status status = SortTopologically(&spec); !status.ok()) {
    return std::string(status.message());
  }
  std::string names;
  for (const proto::LayerSpec& layer : spec.layers()) names += layer.name();
  return names;
}

TEST(TopologicalOrderTest, WhatIsInOrderStays) {
  EXPECT_EQ(Sorted({{"i", {}}, {"a", {"i"}}, {"w", {}}, {"b", {"w"}}, {"c", {"a", "b"}}}), "iawbc");
}

TEST(TopologicalOrderTest, ALayerMovesBehindItsInputs) {
  EXPECT_EQ(Sorted({{"c", {"a", "b"}}, {"b", {"i"}}, {"a", {"i"}}, {"i", {}}}), "ibac");
}

TEST(TopologicalOrderTest, OneInputMayBeTakenTwice) {
  EXPECT_EQ(Sorted({{"sum", {"x", "x"}}, {"x", {}}}), "xsum");
}

// Of the calls of a layer the first one has the variables, and may need more layers than the
// others.
TEST(TopologicalOrderTest, ALayerFollowsTheOneWhoseVariablesItShares) {
  proto::ModelSpec spec = Spec({{"i", {}}, {"second", {"i"}}, {"first", {"a"}}, {"a", {"i"}}});
  spec.mutable_layers(1)->set_shares("first");
  ASSERT_TRUE(SortTopologically(&spec).ok());
  EXPECT_EQ(spec.layers(2).name(), "first");
  EXPECT_EQ(spec.layers(3).name(), "second");
}

TEST(TopologicalOrderTest, RefusesCyclesStrangersAndTwins) {
  EXPECT_EQ(Sorted({{"a", {"b"}}, {"b", {"a"}}}), "layer 'a' depends on itself");
  EXPECT_EQ(Sorted({{"a", {"b"}}}), "layer 'a' has input 'b', which is not a layer");
  EXPECT_EQ(Sorted({{"a", {}}, {"a", {}}}), "two layers have the name 'a'");
}

}  // namespace
}  // namespace cairn::nn
