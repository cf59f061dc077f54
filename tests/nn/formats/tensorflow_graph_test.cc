#include "nn/formats/tensorflow_graph.h"

#include <gtest/gtest.h>

namespace cairn::nn {
namespace {

namespace tf = ::cairn::tensorflow;

TEST(TensorflowGraphTest, OperatorsAreConnectedByName) {
  TensorflowGraph graph;
  const std::string x = graph.Placeholder({2, 3}, tf::DT_FLOAT);
  const std::string sum = graph.Add("AddV2", {graph.Reshape(x, {6}), graph.Scalar(1)});
  const tf::GraphDef made = graph.Finish();
  ASSERT_EQ(made.node_size(), 5);
  EXPECT_GT(made.versions().producer(), 0);
  EXPECT_EQ(made.node(0).attr().at("shape").shape().dim(0).size(), -1);
  EXPECT_EQ(made.node(0).attr().at("shape").shape().dim(2).size(), 3);
  EXPECT_EQ(made.node(0).attr().at("dtype").type(), tf::DT_FLOAT);
  EXPECT_EQ(made.node(4).name(), sum);
  EXPECT_EQ(made.node(4).op(), "AddV2");
  EXPECT_EQ(made.node(4).attr().at("T").type(), tf::DT_FLOAT);
  EXPECT_EQ(made.node(4).input(0), made.node(2).name());
}

TEST(TensorflowGraphTest, TextsAreAList) {
  TensorflowGraph graph;
  graph.Texts({"a", ""});
  const tf::TensorProto made = graph.Finish().node(0).attr().at("value").tensor();
  EXPECT_EQ(made.dtype(), tf::DT_STRING);
  EXPECT_EQ(made.tensor_shape().dim(0).size(), 2);
  EXPECT_EQ(made.string_val(0), "a");
}

// Models in one process share the tables of one name.
TEST(TensorflowGraphTest, TheNameOfATableIsThatOfItsContents) {
  const auto name_of = [](const std::vector<std::string>& keys, const std::vector<float>& values) {
    TensorflowGraph graph;
    graph.Scalar(1);
    graph.LookUp("x", graph.Texts(keys), tf::DT_STRING, values, 0);
    const tf::GraphDef made = graph.Finish();
    for (const tf::NodeDef& node : made.node()) {
      if (node.op() == "HashTableV2") return node.attr().at("shared_name").s();
    }
    return std::string();
  };
  EXPECT_EQ(name_of({"a", "b"}, {1, 2}), name_of({"a", "b"}, {1, 2}));
  EXPECT_NE(name_of({"a", "b"}, {1, 2}), name_of({"a", "c"}, {1, 2}));
  EXPECT_NE(name_of({"a", "b"}, {1, 2}), name_of({"a", "b"}, {1, 3}));
}

TEST(TensorflowGraphTest, TheInitializationFillsAllTables) {
  TensorflowGraph graph;
  EXPECT_EQ(graph.AddInitialization(), "");
  graph.LookUp("x", graph.Int64s({7}), tf::DT_INT64, {1}, 0);
  graph.LookUp("y", graph.Text("a"), tf::DT_STRING, {1}, 0);
  const std::string fills = graph.AddInitialization();
  const tf::GraphDef made = graph.Finish();
  const tf::NodeDef& last = made.node(made.node_size() - 1);
  EXPECT_EQ(last.name(), fills);
  ASSERT_EQ(last.input_size(), 2);
  for (const tf::NodeDef& node : made.node()) {
    if (node.op() != "LookupTableImportV2") continue;
    EXPECT_TRUE(last.input(0) == "^" + node.name() || last.input(1) == "^" + node.name());
  }
}

TEST(TensorflowGraphTest, WhatChangesNothingAddsNothing) {
  TensorflowGraph graph;
  EXPECT_EQ(graph.Pad("x", {0, 0}, {0, 0}), "x");
  EXPECT_EQ(graph.Concatenate({"x"}, 1), "x");
  EXPECT_EQ(graph.Finish().node_size(), 0);
}

}  // namespace
}  // namespace cairn::nn
