#include "nn/formats/onnx_graph.h"

#include <gtest/gtest.h>

#include <set>

namespace cairn::nn {
namespace {

TEST(OnnxGraphTest, OperatorsAreConnectedByName) {
  OnnxGraph graph("m");
  graph.Input("x", {.shape = {2, 3}});
  const std::string flat = graph.Reshape("x", {6});
  const std::string sum =
      graph.Add("Add", {flat, graph.Scalar(1)}, {{"a", int64_t{5}}, {"b", 0.5f}, {"c", "text"}});
  graph.Output(sum, "y", {6});
  const onnx::GraphProto made = graph.model().graph();
  ASSERT_EQ(made.node_size(), 3);
  EXPECT_EQ(made.node(1).input(0), made.node(0).output(0));
  EXPECT_EQ(made.node(1).attribute(0).i(), 5);
  EXPECT_EQ(made.node(1).attribute(1).f(), 0.5f);
  EXPECT_EQ(made.node(1).attribute(2).s(), "text");
  EXPECT_EQ(made.node(2).output(0), "y");
  EXPECT_EQ(made.input(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_EQ(made.input(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
}

TEST(OnnxGraphTest, AnOutputBehindTheFirstLeavesTheOthersUnnamed) {
  OnnxGraph graph("m");
  const std::string state = graph.Add("GRU", {"x"}, {}, /*output=*/1);
  const onnx::NodeProto node = graph.model().graph().node(0);
  ASSERT_EQ(node.output_size(), 2);
  EXPECT_EQ(node.output(0), "");
  EXPECT_EQ(node.output(1), state);
}

TEST(OnnxGraphTest, SeveralOutputsHaveTheirOwnNames) {
  OnnxGraph graph("m");
  const auto names = graph.AddSeveral("LSTM", {"x"}, {}, 3);
  const onnx::NodeProto node = graph.model().graph().node(0);
  EXPECT_EQ(std::vector<std::string>(node.output().begin(), node.output().end()), names);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 3);
}

TEST(OnnxGraphTest, OperatorsOfMachineLearningHaveTheirOwnSet) {
  OnnxGraph graph("m");
  graph.TextInput("x", {1});
  for (int i = 0; i < 2; ++i) graph.AddMl("LabelEncoder", {"x"}, {{"default_float", 0.0f}});
  const onnx::ModelProto made = graph.model();
  ASSERT_EQ(made.opset_import_size(), 2);
  EXPECT_EQ(made.opset_import(1).domain(), "ai.onnx.ml");
  EXPECT_EQ(made.graph().node(1).domain(), "ai.onnx.ml");
  EXPECT_EQ(made.graph().input(0).type().tensor_type().elem_type(), onnx::TensorProto::STRING);
}

}  // namespace
}  // namespace cairn::nn
