#include "nn/formats/tensorflow_graph.h"

#include <gtest/gtest.h>

namespace cairn::nn {
namespace {

namespace tf = ::cairn::tensorflow;

TEST(TensorflowGraphTest, OperatorsAreConnectedByName) {
  TensorflowGraph graph;
  const std::string x = graph.Placeholder({.shape = {2, 3}});
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

TEST(TensorflowGraphTest, WhatChangesNothingAddsNothing) {
  TensorflowGraph graph;
  EXPECT_EQ(graph.Pad("x", {0, 0}, {0, 0}), "x");
  EXPECT_EQ(graph.Concatenate({"x"}, 1), "x");
  EXPECT_EQ(graph.Finish().node_size(), 0);
}

}  // namespace
}  // namespace cairn::nn
