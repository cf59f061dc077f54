#include "nn/formats/onnx_recurrent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/onnx_text.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OnnxRecurrentTest, GatesHaveKerasOrder) {
  OnnxText text({3, 1});
  text.Weight("w", {1, 4, 1}).Weight("r", {1, 4, 1}).Weight("b", {1, 8});
  text.Node(
      "op_type: 'Transpose' input: 'x' output: 'a' attribute { name: 'perm' ints: [1, 0, 2] }");
  text.Node(
      "op_type: 'LSTM' input: ['a', 'w', 'r', 'b'] output: ['', 's'] "
      "attribute { name: 'hidden_size' i: 1 }");
  text.Node(
      "op_type: 'Transpose' input: 's' output: 'y' attribute { name: 'perm' ints: [1, 0, 2] }");
  EXPECT_EQ(text.Layers(), "LSTM Reshape");
  const auto model = text.Read();
  // ONNX: input, output, forget, cell. Keras: input, forget, cell, output.
  EXPECT_THAT(model->weights[0].values, ElementsAre(1, 3, 4, 2));
  EXPECT_THAT(model->weights[2].values, ElementsAre(1 + 5, 3 + 7, 4 + 8, 2 + 6));
}

TEST(OnnxRecurrentTest, RefusesWeightsOfOtherShapes) {
  OnnxText text({3, 2});
  text.Weight("w", {1, 4, 1}).Weight("r", {1, 4, 1});
  text.Node(
      "op_type: 'Transpose' input: 'x' output: 'a' attribute { name: 'perm' ints: [1, 0, 2] }");
  text.Node("name: 'l' op_type: 'LSTM' input: ['a', 'w', 'r'] output: ['y']");
  EXPECT_THAT(text.Layers(), HasSubstr("node 'l' (LSTM): has weights of the shapes"));
}

// A sequence x of 3 steps of 2 elements, and its last GRU state as the initial state of an
// operator.
OnnxText Continued(const std::string& op, const std::string& states) {
  OnnxText text({3, 2});
  text.Weight("w", {1, 6, 2}).Weight("r", {1, 6, 2}).Weight("u", {1, 8, 2}).Weight("v", {1, 8, 2});
  text.Node(
      "op_type: 'Transpose' input: 'x' output: 'a' attribute { name: 'perm' ints: [1, 0, 2] }");
  text.Node("op_type: 'GRU' input: ['a', 'w', 'r'] output: ['', 's']");
  text.Node("name: 'n' op_type: '" + op + "' input: ['a', " + states + "] output: ['', 't']");
  text.Node(
      "op_type: 'Transpose' input: 't' output: 'y' attribute { name: 'perm' ints: [1, 0, 2] }");
  return text;
}

TEST(OnnxRecurrentTest, AComputedInitialStateIsAnInputOfTheLayer) {
  EXPECT_EQ(Continued("GRU", "'w', 'r', '', '', 's'").Layers(), "GRU GRU Reshape");
  EXPECT_EQ(Continued("LSTM", "'u', 'v', '', '', 's', 's'").Layers(), "GRU LSTM Reshape");
}

TEST(OnnxRecurrentTest, RefusesInitialStatesThatALayerDoesNotTake) {
  EXPECT_THAT(Continued("LSTM", "'u', 'v', '', '', 's'").Layers(),
              HasSubstr("node 'n' (LSTM): has one initial state of the two of an LSTM"));
  EXPECT_THAT(Continued("GRU", "'w', 'r', '', '', 'a'").Layers(),
              HasSubstr("node 'n' (GRU): has an initial state that is not (1, batch, units)"));
  EXPECT_THAT(Continued("GRU", "'w', 'r', '', '', 'w'").Layers(),
              HasSubstr("node 'n' (GRU): has input 5, which is not supported"));
}

TEST(OnnxRecurrentTest, StatesOfBothDirectionsAreOutputsOfOneLayer) {
  OnnxText text({3, 2});
  text.Weight("w", {2, 4, 2}).Weight("r", {2, 4, 1});
  text.Node(
      "op_type: 'Transpose' input: 'x' output: 'a' attribute { name: 'perm' ints: [1, 0, 2] }");
  text.Node(
      "op_type: 'LSTM' input: ['a', 'w', 'r'] output: ['', 'h', 'c'] "
      "attribute { name: 'direction' s: 'bidirectional' }");
  text.Node("op_type: 'Add' input: ['h', 'c'] output: 'd'");
  text.Node("op_type: 'Mul' input: ['d', 'c'] output: 'f'");
  text.Node(
      "op_type: 'Transpose' input: 'f' output: 'y' attribute { name: 'perm' ints: [1, 0, 2] }");
  EXPECT_EQ(text.Layers(),
            "Bidirectional LayerOutput LayerOutput Concatenate LayerOutput LayerOutput Concatenate "
            "Add Multiply Reshape");
}

}  // namespace
}  // namespace cairn::nn
