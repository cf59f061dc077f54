#include "nn/formats/onnx_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/onnx_text.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OnnxCallTest, SaysWhichInputIsWrong) {
  onnx::NodeProto proto;
  OnnxBudget budget(10);
  OnnxConstant constant{.name = "w", .shape = {2}, .floats = {1, 2}};
  OnnxCall call{.node = OnnxNode(&proto, 17), .budget = &budget};
  call.values = {OnnxValue(), std::nullopt};
  call.constants = {nullptr, &constant};
  call.is_used = {true, true};
  EXPECT_TRUE(call.Value(0).ok());
  EXPECT_THAT(std::string(call.Value(1).status().message()), HasSubstr("input 1 is constant"));
  EXPECT_THAT(std::string(call.Constant(0).status().message()), HasSubstr("input 0 is computed"));
  EXPECT_THAT(std::string(call.Constant(2).status().message()), HasSubstr("input 2 is missing"));
  EXPECT_THAT(call.Weight(1)->values, ElementsAre(1, 2));
  EXPECT_EQ(call.Axis(-1, 3).value(), 2);
  EXPECT_FALSE(call.Axis(3, 3).ok());
  EXPECT_THAT(std::string(call.ExpectOneOutput().message()), HasSubstr("output 1 is used"));
  EXPECT_THAT(InOrder({1, 2, 3}, {2, 0, 1}), ElementsAre(3, 1, 2));
}

}  // namespace
}  // namespace cairn::nn
