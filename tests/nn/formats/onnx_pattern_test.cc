#include "nn/formats/onnx_pattern.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <vector>

namespace cairn::nn {
namespace {

// A graph of nodes whose outputs are named, and constants by name.
class Graph {
 public:
  void Node(const std::string& output, const std::string& op,
            const std::vector<std::string>& inputs) {
    onnx::NodeProto& node = nodes_[output];
    node.set_op_type(op);
    node.mutable_input()->Assign(inputs.begin(), inputs.end());
    node.add_output(output);
  }
  void Constant(const std::string& name, double value) { constants_[name] = value; }

  const onnx::NodeProto& at(const std::string& output) const { return nodes_.at(output); }
  OnnxNames names() const {
    return {.producer = [this](const std::string& name) -> const onnx::NodeProto* {
              const auto found = nodes_.find(name);
              return found == nodes_.end() ? nullptr : &found->second;
            },
            .scalar = [this](const std::string& name) -> std::optional<double> {
              const auto found = constants_.find(name);
              if (found == constants_.end()) return std::nullopt;
              return found->second;
            }};
  }

 private:
  std::map<std::string, onnx::NodeProto> nodes_;
  std::map<std::string, double> constants_;
};

TEST(OnnxPatternTest, LettersStandForEqualValues) {
  Graph graph;
  graph.Node("s", "Sigmoid", {"a"});
  graph.Node("silu", "Mul", {"s", "a"});
  graph.Node("gate", "Mul", {"s", "b"});
  OnnxMatch match;
  EXPECT_TRUE(MatchesOnnx("Mul(x, Sigmoid(x))", graph.at("silu"), graph.names(), &match));
  EXPECT_EQ(match.values['x'], "a");
  EXPECT_EQ(FindOnnxActivation(graph.at("silu"), graph.names())->activation, "swish");
  EXPECT_FALSE(FindOnnxActivation(graph.at("gate"), graph.names()).has_value());
}

TEST(OnnxPatternTest, GeluIsKnownInEachOrderOfItsFactors) {
  Graph graph;
  graph.Constant("root", 1.4142135);
  graph.Constant("one", 1);
  graph.Constant("half", 0.5);
  graph.Node("d", "Div", {"a", "root"});
  graph.Node("e", "Erf", {"d"});
  graph.Node("f", "Add", {"e", "one"});
  graph.Node("g", "Mul", {"f", "a"});
  graph.Node("gelu", "Mul", {"g", "half"});
  graph.Node("h", "Mul", {"half", "f"});
  graph.Node("other", "Mul", {"a", "h"});
  EXPECT_EQ(FindOnnxActivation(graph.at("gelu"), graph.names())->activation, "gelu");
  EXPECT_EQ(FindOnnxActivation(graph.at("other"), graph.names())->activation, "gelu");
  graph.Constant("half", 0.25);
  EXPECT_FALSE(FindOnnxActivation(graph.at("gelu"), graph.names()).has_value());
}

TEST(OnnxPatternTest, CapitalsStandForNumbers) {
  Graph graph;
  graph.Constant("t", 0.25);
  graph.Constant("s", 0.5);
  graph.Node("less", "Less", {"a", "t"});
  graph.Node("sub", "Sub", {"a", "t"});
  graph.Node("mul", "Mul", {"s", "sub"});
  graph.Node("relu", "Where", {"less", "mul", "a"});
  const auto found = FindOnnxActivation(graph.at("relu"), graph.names());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->class_name, "ReLU");
  EXPECT_EQ(found->threshold, 0.25);
  EXPECT_EQ(found->slope, 0.5);
}

TEST(OnnxPatternTest, AnAttentionNeedsAllOfItsOperators) {
  Graph graph;
  graph.Node("e", "Einsum", {"a", "w"});
  graph.Node("sum", "Add", {"e", "b"});
  EXPECT_FALSE(FindOnnxAttention(graph.at("sum"), graph.names()).has_value());
}

}  // namespace
}  // namespace cairn::nn
