#include "nn/cpu/fused_layers.h"

#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

bool Fuses(const TestLayer& first, const TestLayer& second) {
  const std::unique_ptr<Model> model =
      ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 6, 6, 2]})"}, first, second});
  return HasFusedKernel(*model->nodes()[1].layer, *model->nodes()[2].layer);
}

TEST(FusedLayersTest, NormalizationTakesReluAlongAndNothingElse) {
  const TestLayer norm = {"norm", "BatchNormalization"};
  EXPECT_TRUE(Fuses(norm, {"relu", "ReLU"}));
  EXPECT_TRUE(Fuses(norm, {"relu", "ReLU", R"({"max_value": 6.0})"}));
  EXPECT_TRUE(Fuses(norm, {"relu", "Activation", R"({"activation": "relu6"})"}));
  EXPECT_FALSE(Fuses(norm, {"relu", "ReLU", R"({"negative_slope": 0.1})"}));
  EXPECT_FALSE(Fuses(norm, {"relu", "ReLU", R"({"threshold": 1.0})"}));
  EXPECT_FALSE(Fuses(norm, {"tanh", "Activation", R"({"activation": "tanh"})"}));
  EXPECT_FALSE(Fuses(norm, {"dense", "Dense", R"({"units": 2, "activation": "relu"})"}));
}

TEST(FusedLayersTest, ZerosAroundAnImageBelongToTheConvolution) {
  const TestLayer pad = {"pad", "ZeroPadding2D"};
  EXPECT_TRUE(Fuses(pad, {"conv", "Conv2D", R"({"filters": 2, "kernel_size": 3})"}));
  EXPECT_TRUE(Fuses(pad, {"conv", "DepthwiseConv2D", R"({"kernel_size": 3})"}));
  EXPECT_FALSE(Fuses(pad, {"pool", "MaxPooling2D"}));
  EXPECT_FALSE(
      Fuses({"crop", "Cropping2D"}, {"conv", "Conv2D", R"({"filters": 2, "kernel_size": 3})"}));
}

}  // namespace
}  // namespace cairn::nn::testing
