#include "nn/cpu/activation_function.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nn/reference_model.h"

namespace cairn::nn {
namespace {

std::vector<Activation> AllActivations() {
  std::vector<Activation> all;
  for (const char* name :
       {"linear",      "relu",        "relu6",       "leaky_relu", "sigmoid",     "hard_sigmoid",
        "tanh",        "softmax",     "softplus",    "softsign",   "elu",         "selu",
        "gelu",        "swish",       "exponential", "hard_swish", "hard_tanh",   "hard_shrink",
        "soft_shrink", "log_sigmoid", "log_softmax", "mish",       "sparse_plus", "sparse_sigmoid",
        "squareplus",  "tanh_shrink", "erf",         "floor"}) {
    all.push_back(*ParseActivation(name));
  }
  return all;
}

TEST(ActivationFunctionTest, ValuesFarFromZeroAreTheFormulas) {
  const std::vector<float> x = {-30, -7, -3.5f, -0.3f, 0, 0.2f, 2.9f, 5.5f, 6.5f, 25};
  for (const Activation& activation : AllActivations()) {
    std::vector<float> y(x.size());
    ApplyActivation(activation, 2, 5, x.data(), y.data());
    const testing::Doubles expected =
        testing::ReferenceActivation(activation, 5, testing::Doubles(x.begin(), x.end()));
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(y[i], expected[i], 2e-6 * std::max(1.0, std::fabs(expected[i])))
          << "kind " << static_cast<int>(activation.kind) << " of " << x[i];
    }
  }
}

TEST(ActivationFunctionTest, ExtremeValuesGiveNoNotANumber) {
  const std::vector<float> x = {-1e30f, -200, 200, 1e30f};
  for (const Activation& activation : AllActivations()) {
    std::vector<float> y(x.size());
    std::vector<float> gradient(x.size(), 1);
    ApplyActivation(activation, 1, 4, x.data(), y.data());
    for (float value : y) EXPECT_FALSE(std::isnan(value)) << static_cast<int>(activation.kind);
    if (activation.kind == Activation::Kind::kExponential) continue;  // Infinite, as expected.
    MultiplyByDerivative(activation, 1, 4, x.data(), y.data(), gradient.data());
    for (float value : gradient) {
      EXPECT_FALSE(std::isnan(value)) << static_cast<int>(activation.kind);
    }
  }
}

// Weights that a constraint cuts off give outputs of exactly 0.
TEST(ActivationFunctionTest, TheDerivativeOfSeluAt0IsThatOfTensorFlow) {
  const float x = 0;
  float y = -1, gradient = 2;
  ApplyActivation(*ParseActivation("selu"), 1, 1, &x, &y);
  EXPECT_EQ(y, 0);
  MultiplyByDerivative(*ParseActivation("selu"), 1, 1, &x, &y, &gradient);
  EXPECT_FLOAT_EQ(gradient, 2 * 1.05070098F);
}

TEST(ActivationFunctionTest, MayWorkInPlace) {
  for (const Activation& activation : AllActivations()) {
    const std::vector<float> x = {-2, -0.5f, 0.25f, 3};
    std::vector<float> y(4);
    std::vector<float> in_place = x;
    ApplyActivation(activation, 1, 4, x.data(), y.data());
    ApplyActivation(activation, 1, 4, in_place.data(), in_place.data());
    EXPECT_EQ(y, in_place) << static_cast<int>(activation.kind);
  }
}

}  // namespace
}  // namespace cairn::nn
