#include "nn/plan/gradient_layout.h"

#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "tests/nn/test_model.h"

namespace cairn::nn::testing {
namespace {

class GradientLayoutTest : public ::testing::Test {
 protected:
  GradientLayout LayoutOf(const std::vector<TestLayer>& layers) {
    const std::unique_ptr<Model> model = ModelOf(layers);
    return GradientLayout(*model, GradientFlow(*model), Fusion(*model, *device_), /*batch_size=*/1);
  }
  std::unique_ptr<Device> device_ = *CreateDevice("cpu");
};

const TestLayer kInput = {"input", "InputLayer", R"({"batch_shape": [null, 16]})"};

TEST_F(GradientLayoutTest, AChainOfAnyLengthNeedsTwoPlaces) {
  std::vector<TestLayer> layers = {kInput};
  for (int i = 0; i < 20; ++i) {
    layers.push_back({"d" + std::to_string(i), "Dense", R"({"units": 16})"});
  }
  const GradientLayout layout = LayoutOf(layers);
  EXPECT_EQ(layout.size, 2 * 16);
  EXPECT_EQ(layout.outputs[0], -1);
  EXPECT_EQ(layout.inputs[1], std::vector<int64_t>({-1}));
  for (int i = 2; i <= 20; ++i) {
    EXPECT_EQ(layout.inputs[i][0], layout.outputs[i - 1]);
    EXPECT_NE(layout.inputs[i][0], layout.outputs[i]);
  }
}

TEST_F(GradientLayoutTest, AGradientStaysUntilItsLayerHasRun) {
  const GradientLayout layout = LayoutOf({kInput,
                                          {"stem", "Dense", R"({"units": 16})"},
                                          {"left", "Dense", R"({"units": 16})", {"stem"}},
                                          {"right", "Dense", R"({"units": 16})", {"left"}},
                                          {"sum", "Add", "{}", {"stem", "right"}}});
  // The stem's gradient is first written by the sum and stays live while right and left run.
  const int64_t stem = layout.outputs[1];
  EXPECT_EQ(layout.inputs[4][0], stem);
  for (int node : {2, 3}) EXPECT_NE(layout.outputs[node], stem);
  // The contribution of left has memory of its own.
  EXPECT_NE(layout.inputs[2][0], stem);
  EXPECT_NE(layout.inputs[2][0], layout.outputs[2]);
}

TEST_F(GradientLayoutTest, AViewsGradientIsItsInputs) {
  const GradientLayout layout = LayoutOf({kInput,
                                          {"stem", "Dense", R"({"units": 16})"},
                                          {"view", "Reshape", R"({"target_shape": [4, 4]})"},
                                          {"after", "Dense", R"({"units": 4})"}});
  EXPECT_EQ(layout.outputs[2], layout.outputs[1]);
  EXPECT_EQ(layout.inputs[3][0], layout.outputs[1]);
}

TEST_F(GradientLayoutTest, BetweenThePairThereIsNoGradient) {
  const GradientLayout layout = LayoutOf({kInput,
                                          {"stem", "Dense", R"({"units": 16})"},
                                          {"norm", "BatchNormalization"},
                                          {"relu", "ReLU"}});
  EXPECT_EQ(layout.outputs[2], -1);
  EXPECT_GE(layout.outputs[3], 0);
  EXPECT_EQ(layout.inputs[2][0], layout.outputs[1]);
}

TEST_F(GradientLayoutTest, NormalizationTurnsItsGradientIntoThatByItsInput) {
  const GradientLayout layout = LayoutOf({kInput,
                                          {"stem", "Dense", R"({"units": 16})"},
                                          {"norm", "BatchNormalization"},
                                          {"relu", "ReLU"},
                                          {"after", "Dense", R"({"units": 16})"}});
  EXPECT_EQ(layout.outputs[1], layout.outputs[3]);
  EXPECT_EQ(layout.size, 2 * 16);
}

TEST_F(GradientLayoutTest, NormalizationAddsToAGradientThatIsThere) {
  const GradientLayout layout = LayoutOf({kInput,
                                          {"stem", "Dense", R"({"units": 16})"},
                                          {"norm", "BatchNormalization"},
                                          {"sum", "Add", "{}", {"stem", "norm"}}});
  EXPECT_NE(layout.inputs[2][0], layout.outputs[1]);
  EXPECT_NE(layout.inputs[2][0], layout.outputs[2]);
}

}  // namespace
}  // namespace cairn::nn::testing
