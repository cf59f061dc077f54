#include "nn/layers/resize_method.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

// The weights of all pixels of the axis for an output pixel.
std::vector<float> WeightsOf(ResizeMethod method, int64_t input, int64_t output, int64_t pixel) {
  const ResizedAxis axis = {.input = input, .extent = input, .output = output};
  const ResizeSpan span = ResizeSpans(method, axis)[pixel];
  std::vector<float> weights(span.first);
  weights.insert(weights.end(), span.weights.begin(), span.weights.end());
  weights.resize(input);
  return weights;
}

TEST(ResizeMethodTest, WeightsAreThoseOfTensorflow) {
  // tf.image.resize of the rows of an identity matrix.
  const struct {
    const char* method;
    std::vector<float> smaller;  // Pixel 0 of 3 from 5.
    std::vector<float> larger;   // Pixel 2 of 8 from 5.
  } cases[] = {
      {"bicubic",
       {0.724491f, 0.309941f, -0.034432f, 0, 0},
       {-0.027466f, 0.990601f, 0.038696f, -0.001831f, 0}},
      {"area", {0.6f, 0.4f, 0, 0, 0}, {0, 1, 0, 0, 0}},
      {"lanczos3",
       {0.729769f, 0.342879f, -0.084051f, 0.011403f, 0},
       {-0.047677f, 1.004787f, 0.056773f, -0.014338f, 0.000455f}},
      {"lanczos5",
       {0.731176f, 0.357599f, -0.121824f, 0.054648f, -0.021599f},
       {-0.054863f, 1.005469f, 0.063238f, -0.025003f, 0.011158f}},
      {"gaussian", {0.660756f, 0.339244f, 0, 0, 0}, {0.082396f, 0.781755f, 0.135849f, 0, 0}},
      {"mitchellcubic",
       {0.687251f, 0.334661f, -0.021912f, 0, 0},
       {0.027466f, 0.881361f, 0.09238f, -0.001207f, 0}},
  };
  for (const auto& each : cases) {
    const ResizeMethod method = *ResizeMethodNamed(each.method);
    const std::vector<float> smaller = WeightsOf(method, 5, 3, 0);
    const std::vector<float> larger = WeightsOf(method, 5, 8, 2);
    for (int i = 0; i < 5; ++i) {
      EXPECT_NEAR(smaller[i], each.smaller[i], 1e-6) << each.method << " " << i;
      EXPECT_NEAR(larger[i], each.larger[i], 1e-6) << each.method << " " << i;
    }
  }
}

TEST(ResizeMethodTest, AnAreaInsideAPixelIsThePixel) {
  // Its borders are rounded to 2^-14 here, and differ by a third.
  EXPECT_EQ(WeightsOf(ResizeMethod::kArea, 1000, 3000, 2998)[999], 1);
}

TEST(ResizeMethodTest, SpansAreWithinTheExtent) {
  for (const std::string& name : ResizeMethodNames()) {
    const ResizeMethod method = *ResizeMethodNamed(name);
    EXPECT_EQ(NameOf(method), name);
    if (method == ResizeMethod::kBilinear || method == ResizeMethod::kNearest) continue;
    for (const int64_t output : {1, 2, 3, 7, 40}) {
      const ResizedAxis axis = {.input = 9, .start = 2, .extent = 3, .output = output};
      for (const ResizeSpan& span : ResizeSpans(method, axis)) {
        EXPECT_GE(span.first, 2) << name;
        EXPECT_LE(span.first + static_cast<int64_t>(span.weights.size()), 5) << name;
      }
    }
  }
  EXPECT_EQ(ResizeMethodNamed("cubic"), std::nullopt);
}

}  // namespace
}  // namespace cairn::nn
