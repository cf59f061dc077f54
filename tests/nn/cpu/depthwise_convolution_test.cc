#include "nn/cpu/depthwise_convolution.h"

#include "gtest/gtest.h"
#include "tests/nn/cpu/convolution_loops.h"

namespace cairn::nn::testing {
namespace {

Convolution::Options Depthwise(int64_t side, int64_t channels) {
  return SameConvolution(/*examples=*/3, side, channels, channels, /*size=*/3, /*groups=*/channels);
}

// Stride 2, with this padding before and after the image.
Convolution::Options Halving(int64_t height, int64_t width, int64_t before, int64_t after) {
  Convolution::Options options = Depthwise(/*side=*/1, /*channels=*/32);
  options.window.strides = {2, 2};
  options.window.padding_before = {before, before};
  options.window.padding_after = {after, after};
  options.input = {height, width, 32};
  options.output = {(height + before + after - 3) / 2 + 1, (width + before + after - 3) / 2 + 1,
                    32};
  return options;
}

void Expect(const Convolution::Options& options) {
  ASSERT_TRUE(DepthwiseConvolution::Fits(options));
  DepthwiseConvolution convolution(options);
  ExpectProducts(options, &convolution, /*tolerance=*/1e-6);
}

TEST(DepthwiseConvolutionTest, ImagesOfAnySizeAreSeenWholly) {
  for (int64_t side : {1, 2, 3, 8, 21}) Expect(Depthwise(side, /*channels=*/48));
}

TEST(DepthwiseConvolutionTest, EverySecondPixelIsTheMiddleOfAWindow) {
  for (int64_t before : {0, 1}) {
    for (int64_t after : {0, 1}) {
      Expect(Halving(8, 6, before, after));
      Expect(Halving(5, 7, before, after));
    }
  }
  Expect(Halving(1, 1, 1, 1));
  Expect(Halving(2, 2, 1, 1));
}

TEST(DepthwiseConvolutionTest, RowsAreAddedUpWhateverTheNumberOfImages) {
  Convolution::Options options = Depthwise(/*side=*/6, /*channels=*/64);
  options.examples = 40;
  Expect(options);
}

TEST(DepthwiseConvolutionTest, TheBiasIsAdded) {
  Convolution::Options options = Depthwise(/*side=*/5, /*channels=*/16);
  options.adds_bias = true;
  Expect(options);
}

TEST(DepthwiseConvolutionTest, OtherConvolutionsDoNotFit) {
  EXPECT_FALSE(DepthwiseConvolution::Fits(Depthwise(6, /*channels=*/24)));
  EXPECT_FALSE(DepthwiseConvolution::Fits(SameConvolution(3, 6, 16, 32, 3, /*groups=*/16)));
  EXPECT_FALSE(DepthwiseConvolution::Fits(SameConvolution(3, 6, 16, 16, 5, /*groups=*/16)));
  EXPECT_FALSE(DepthwiseConvolution::Fits(SameConvolution(3, 6, 16, 16, 3)));
  Convolution::Options dilated = Depthwise(6, 16);
  dilated.window.dilation = {1, 2};
  EXPECT_FALSE(DepthwiseConvolution::Fits(dilated));
  Convolution::Options valid = Depthwise(6, 16);
  valid.window.padding_before = valid.window.padding_after = {0, 0};
  valid.output = {4, 4, 16};
  EXPECT_FALSE(DepthwiseConvolution::Fits(valid));
}

}  // namespace
}  // namespace cairn::nn::testing
