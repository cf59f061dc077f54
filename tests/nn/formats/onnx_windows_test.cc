#include "nn/formats/onnx_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/onnx_text.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OnnxWindowsTest, AKernelHasItsFiltersLast) {
  OnnxText text({2, 3, 3});
  text.Weight("c.weight", {2, 2, 1, 1});
  text.Node("op_type: 'Conv' input: ['x', 'c.weight'] output: 'y'");
  EXPECT_EQ(text.Layers(), "Conv2D");
  const auto model = text.Read();
  EXPECT_THAT(model->weights[0].shape, ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(model->weights[0].values, ElementsAre(1, 3, 2, 4));
}

TEST(OnnxWindowsTest, PaddingThatKerasLacksIsALayer) {
  OnnxText text({1, 4, 4});
  text.Weight("c.weight", {1, 1, 3, 3});
  text.Node(
      "op_type: 'Conv' input: ['x', 'c.weight'] output: 'y' "
      "attribute { name: 'pads' ints: [1, 1, 1, 1] } attribute { name: 'strides' ints: [2, 2] }");
  EXPECT_EQ(text.Layers(), "ZeroPadding2D Conv2D");
  OnnxText pool({1, 4, 4});
  pool.Node(
      "name: 'p' op_type: 'MaxPool' input: 'x' output: 'y' attribute { name: 'kernel_shape' "
      "ints: [3, 3] } attribute { name: 'pads' ints: [1, 1, 1, 1] } "
      "attribute { name: 'strides' ints: [2, 2] }");
  EXPECT_THAT(pool.Layers(),
              HasSubstr("node 'p' (MaxPool): pads its input, which may be negative"));
}

}  // namespace
}  // namespace cairn::nn
