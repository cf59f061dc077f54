#include "nn/formats/onnx_node.h"

#include <gtest/gtest.h>

namespace cairn::nn {
namespace {

TEST(OnnxNodeTest, AnAttributeThatNobodyReadsIsAnError) {
  onnx::NodeProto proto;
  proto.set_name("n");
  proto.set_op_type("Relu");
  auto* const attribute = proto.add_attribute();
  attribute->set_name("axis");
  attribute->set_i(3);
  const OnnxNode node(&proto, 17);
  EXPECT_EQ(node.CheckAllRead().message(), "node 'n' (Relu): attribute 'axis' is not supported");
  EXPECT_EQ(node.Int("axis", 0), 3);
  EXPECT_EQ(node.Int("other", 5), 5);
  EXPECT_FALSE(node.Ints("pads").has_value());
  EXPECT_TRUE(node.CheckAllRead().ok());
}

TEST(OnnxNodeTest, ANodeWithoutANameIsCalledAsItsOutput) {
  onnx::NodeProto proto;
  proto.set_op_type("Relu");
  proto.add_output("y");
  EXPECT_EQ(OnnxNode(&proto, 17).Error("is bad").message(), "node 'y' (Relu): is bad");
}

}  // namespace
}  // namespace cairn::nn
