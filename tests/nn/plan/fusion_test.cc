#include "nn/plan/fusion.h"

#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

class FusionTest : public ::testing::Test {
 protected:
  std::vector<int> NextOf(const std::vector<TestLayer>& layers) {
    return Fusion(*ModelOf(layers), *device_).next;
  }
  std::unique_ptr<Device> device_ = *CreateDevice("cpu");
};

const TestLayer kInput = {"input", "InputLayer", R"({"batch_shape": [null, 6, 6, 2]})"};
const TestLayer kNorm = {"norm", "BatchNormalization"};
const TestLayer kRelu = {"relu", "ReLU"};

TEST_F(FusionTest, ALayerAndItsOnlyTakerAreOnePair) {
  const std::unique_ptr<Model> model = ModelOf({kInput, kNorm, kRelu});
  const Fusion fusion(*model, *device_);
  EXPECT_EQ(fusion.next, std::vector<int>({-1, 2, -1}));
  EXPECT_EQ(fusion.previous, std::vector<int>({-1, -1, 1}));
  EXPECT_EQ(fusion.tail(1), 2);
  EXPECT_EQ(fusion.tail(0), 0);
  EXPECT_TRUE(fusion.is_second(2));
}

TEST_F(FusionTest, WhatAnotherLayerTakesIsNotHidden) {
  EXPECT_EQ(NextOf({kInput, kNorm, kRelu, {"sum", "Add", "{}", {"norm", "relu"}}}),
            std::vector<int>(4, -1));
}

TEST_F(FusionTest, TheModelsOutputIsNotHidden) {
  proto::ModelSpec spec = SpecOf({kInput, kNorm, kRelu});
  spec.add_outputs("norm");
  const auto model = Model::Create(spec);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Fusion(**model, *device_).next, std::vector<int>(3, -1));
}

TEST_F(FusionTest, VariablesAreOnlyFusedWithTheLayerRightBefore) {
  const TestLayer pad = {"pad", "ZeroPadding2D", "{}", {"input"}};
  const TestLayer conv = {"conv", "Conv2D", R"({"filters": 2, "kernel_size": 3})", {"pad"}};
  EXPECT_EQ(NextOf({kInput, pad, conv})[1], 2);
  const TestLayer other = {"other", "Conv2D", R"({"filters": 2, "kernel_size": 1})", {"input"}};
  EXPECT_EQ(NextOf({kInput, pad, other, conv, {"sum", "Add", "{}", {"other", "conv"}}})[1], -1);
}

TEST_F(FusionTest, ALayerIsInOnePairAtMost) {
  EXPECT_EQ(NextOf({kInput,
                    {"pad", "ZeroPadding2D"},
                    {"conv", "Conv2D", R"({"filters": 2, "kernel_size": 3})"},
                    kNorm,
                    kRelu}),
            std::vector<int>({-1, 2, -1, 4, -1}));
}

}  // namespace
}  // namespace cairn::nn::testing
