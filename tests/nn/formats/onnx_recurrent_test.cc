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

}  // namespace
}  // namespace cairn::nn
