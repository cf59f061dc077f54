#include <vector>

#include "gtest/gtest.h"
#include "nn/cpu/cpu_device.h"
#include "tests/nn/test_model.h"

namespace cairn::nn {
namespace {

// Not covered by the conformance suite, because it is not the gradient of the output.
TEST(Pooling2DKernelTest, PaddedAveragesMayHaveTheGradientOfTensorFlowJs) {
  const auto model =
      testing::ModelOf({{"input", "InputLayer", R"({"batch_shape": [null, 3, 1, 1]})"},
                        {"pool", "AveragePooling2D",
                         R"({"pool_size": [2, 1], "padding": "same", "gradient_of_tfjs": true})"}});
  CpuDevice device;
  const auto kernel =
      *device.CreateKernel(*model->nodes()[1].layer, {.examples = 1, .training = true});
  const float input[] = {1, 3, 5};
  const float* inputs[] = {input};
  float output[2];
  ASSERT_TRUE(kernel->Forward({.inputs = inputs, .output = output, .training = true}).ok());
  EXPECT_EQ(output[0], 2);
  EXPECT_EQ(output[1], 5);  // The padding does not count.
  float output_gradient[] = {1, 1};
  float gradient[3];
  float* gradients[] = {gradient};
  kernel->Backward({.inputs = inputs,
                    .output = output,
                    .output_gradient = output_gradient,
                    .input_gradients = gradients});
  EXPECT_EQ(gradient[0], 0.5f);
  EXPECT_EQ(gradient[1], 0.5f);
  EXPECT_EQ(gradient[2], 0.5f);  // TensorFlow's would be 1.
}

TEST(Pooling2DKernelTest, OfEqualLargestElementsTheFirstGetsTheGradient) {
  const auto model = testing::ModelOf(
      {{"input", "InputLayer", R"({"batch_shape": [null, 2, 2, 1]})"}, {"pool", "MaxPooling2D"}});
  CpuDevice device;
  const auto kernel =
      *device.CreateKernel(*model->nodes()[1].layer, {.examples = 1, .training = true});
  const float input[] = {1, 4, 4, 4};
  const float* inputs[] = {input};
  float output[1];
  ASSERT_TRUE(kernel->Forward({.inputs = inputs, .output = output, .training = true}).ok());
  float output_gradient[] = {7};
  float gradient[4];
  float* gradients[] = {gradient};
  kernel->Backward({.inputs = inputs,
                    .output = output,
                    .output_gradient = output_gradient,
                    .input_gradients = gradients});
  EXPECT_EQ(std::vector<float>(gradient, gradient + 4), std::vector<float>({0, 7, 0, 0}));
}

}  // namespace
}  // namespace cairn::nn
