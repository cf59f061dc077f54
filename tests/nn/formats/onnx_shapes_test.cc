#include "nn/formats/onnx_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/onnx_text.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OnnxShapesTest, ViewsNeedNoLayers) {
  OnnxText text({2, 3});
  text.Integers("shape", {0, 6});
  text.Node(
      "op_type: 'Transpose' input: 'x' output: 'a' attribute { name: 'perm' ints: [0, 2, 1] }");
  text.Node(
      "op_type: 'Transpose' input: 'a' output: 'b' attribute { name: 'perm' ints: [0, 2, 1] }");
  text.Node("op_type: 'Reshape' input: ['b', 'shape'] output: 'c'");
  text.Node("op_type: 'Relu' input: 'c' output: 'y'");
  EXPECT_EQ(text.Layers(), "ReLU Flatten");
}

TEST(OnnxShapesTest, APartIsACropping) {
  OnnxText text({5, 3});
  text.Integers("begin", {1}).Integers("end", {4}).Integers("axis", {1});
  text.Node("op_type: 'Slice' input: ['x', 'begin', 'end', 'axis'] output: 'y'");
  EXPECT_EQ(text.Layers(), "Cropping1D");
  EXPECT_EQ(text.Read()
                ->spec.layers(1)
                .config()
                .fields()
                .at("cropping")
                .list_value()
                .values(1)
                .number_value(),
            1);
}

TEST(OnnxShapesTest, TheBatchIsNotDivided) {
  OnnxText text({4});
  text.Integers("begin", {0}).Integers("end", {1}).Integers("axis", {0});
  text.Node("name: 's' op_type: 'Slice' input: ['x', 'begin', 'end', 'axis'] output: 'y'");
  EXPECT_THAT(text.Layers(), HasSubstr("node 's' (Slice): takes a part of the batch"));
}

}  // namespace
}  // namespace cairn::nn
