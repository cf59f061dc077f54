#include "nn/formats/onnx_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/onnx_text.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OnnxOperatorsTest, AProductItsBiasAndItsActivationAreOneLayer) {
  OnnxText text({2});
  text.Weight("d.weight", {2, 3}).Weight("d.bias", {3});
  text.Node("op_type: 'MatMul' input: ['x', 'd.weight'] output: 'a'");
  text.Node("op_type: 'Add' input: ['d.bias', 'a'] output: 'b'");
  text.Node("op_type: 'Tanh' input: 'b' output: 'y'");
  EXPECT_EQ(text.Layers(), "Dense");
  const auto model = text.Read();
  EXPECT_EQ(model->weights[0].name, "d/kernel");
  EXPECT_THAT(model->weights[1].values, ElementsAre(1, 2, 3));
}

// The rows of the kernel are moved from (channels, height) to (height, channels).
TEST(OnnxOperatorsTest, AGemmBehindAFlattenHasItsRowsInTheOrderOfTheImage) {
  OnnxText text({2, 3});
  text.Weight("scale", {2}).Weight("kernel", {6, 1});
  text.Node(
      "op_type: 'BatchNormalization' input: ['x', 'scale', 'scale', 'scale', 'scale'] "
      "output: 'a'");
  text.Node("op_type: 'Flatten' input: 'a' output: 'b'");
  text.Node("op_type: 'Gemm' input: ['b', 'kernel'] output: 'y'");
  EXPECT_EQ(text.Layers(), "BatchNormalization Flatten Dense");
  EXPECT_THAT(text.Read()->weights[4].values, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(OnnxOperatorsTest, CeilIsTheNegativeOfTheFloorOfTheNegative) {
  OnnxText text({2});
  text.Node("op_type: 'Erf' input: 'x' output: 'a'");
  text.Node("op_type: 'Ceil' input: 'a' output: 'y'");
  EXPECT_EQ(text.Layers(), "Erf Rescaling Floor Rescaling");
}

TEST(OnnxOperatorsTest, RefusesWhatNoLayerComputes) {
  OnnxText quotient({2});
  quotient.Node("name: 'q' op_type: 'Div' input: ['x', 'x'] output: 'y'");
  EXPECT_THAT(quotient.Layers(), HasSubstr("node 'q' (Div): divides by a computed value"));
  OnnxText attribute({2});
  attribute.Node("name: 'r' op_type: 'Relu' input: 'x' output: 'y' attribute { name: 'a' }");
  EXPECT_THAT(attribute.Layers(), HasSubstr("node 'r' (Relu): attribute 'a' is not supported"));
}

}  // namespace
}  // namespace cairn::nn
