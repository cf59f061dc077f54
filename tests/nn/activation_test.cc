#include "nn/activation.h"

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

TEST(ActivationTest, NamesHaveKerasDefaults) {
  EXPECT_EQ(ParseActivation("linear")->kind, Activation::Kind::kLinear);
  EXPECT_FLOAT_EQ(ParseActivation("leaky_relu")->slope, 0.2f);
  EXPECT_FLOAT_EQ(ParseActivation("relu6")->max_value, 6);
  EXPECT_FLOAT_EQ(ParseActivation("elu")->slope, 1);
  EXPECT_EQ(ParseActivation("silu")->kind, ParseActivation("swish")->kind);
  EXPECT_EQ(ParseActivation("hard_silu")->kind, ParseActivation("hard_swish")->kind);
  EXPECT_FLOAT_EQ(ParseActivation("sparse_sigmoid")->slope, 0.5f);
}

TEST(ActivationTest, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const absl::Status status = ParseActivation("rellu").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("'rellu'"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("hard_sigmoid"), absl::string_view::npos) << status;
}

TEST(ActivationTest, OnlyTheBareRectifierIsPlain) {
  EXPECT_TRUE(ParseActivation("relu")->is_plain_relu());
  EXPECT_FALSE(ParseActivation("relu6")->is_plain_relu());
  EXPECT_FALSE(ParseActivation("leaky_relu")->is_plain_relu());
}

TEST(ActivationTest, AnOutputThatHidesItsInputDoesNotGiveTheDerivative) {
  EXPECT_FALSE(ParseActivation("gelu")->differentiates_from_output());
  EXPECT_FALSE(ParseActivation("swish")->differentiates_from_output());
  Activation shifted{.kind = Activation::Kind::kRelu, .threshold = 1};
  EXPECT_FALSE(shifted.differentiates_from_output());
  EXPECT_TRUE(ParseActivation("leaky_relu")->differentiates_from_output());
}

TEST(ActivationTest, OperationsAreFoundByTheirClass) {
  for (const char* name : {"Cos", "Erf", "Floor", "Log", "Reciprocal", "Sign", "Sin", "Sqrt"}) {
    EXPECT_STREQ(FindOperation(name)->operation_name(), name);
  }
  EXPECT_FALSE(FindOperation("Tan").has_value());
  EXPECT_STREQ(ParseActivation("tanh")->operation_name(), "");
  EXPECT_STREQ(ParseActivation("erf")->operation_name(), "Erf");
  EXPECT_FALSE(FindOperation("Sin")->differentiates_from_output());
  EXPECT_FALSE(FindOperation("Erf")->differentiates_from_output());
}

}  // namespace
}  // namespace cairn::nn
