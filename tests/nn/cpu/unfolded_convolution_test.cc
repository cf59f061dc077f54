#include "nn/cpu/unfolded_convolution.h"

#include "gtest/gtest.h"
#include "tests/nn/cpu/convolution_loops.h"

namespace cairn::nn::testing {
namespace {

constexpr double kRounding = 1e-6;

void Expect(const Convolution::Options& options) {
  const DnnlContext context;
  UnfoldedConvolution convolution(options, &context);
  ExpectProducts(options, &convolution, kRounding);
}

TEST(UnfoldedConvolutionTest, WindowsReachIntoThePadding) {
  for (int64_t size : {3, 5}) Expect(SameConvolution(3, 4, 24, 40, size));
}

TEST(UnfoldedConvolutionTest, PixelsAreMultipliedWhereTheyLie) {
  Expect(SameConvolution(3, 5, 24, 40, /*size=*/1));
}

TEST(UnfoldedConvolutionTest, StridesLeavePixelsOut) {
  Convolution::Options options = SameConvolution(3, 6, 24, 40, /*size=*/1);
  options.window.strides = {2, 3};
  options.output = {3, 2, 40};
  Expect(options);
}

TEST(UnfoldedConvolutionTest, HolesAndUnevenPaddingAreKept) {
  Convolution::Options options = SameConvolution(2, 7, 8, 16, /*size=*/3);
  options.window.dilation = {1, 2};
  options.window.strides = {2, 1};
  options.window.padding_before = {0, 2};
  options.window.padding_after = {1, 1};
  options.output = {3, 6, 16};
  Expect(options);
}

TEST(UnfoldedConvolutionTest, BiasAndReluFollowTheProduct) {
  Convolution::Options options = SameConvolution(2, 3, 32, 48, /*size=*/3);
  options.adds_bias = true;
  options.applies_relu = true;
  Expect(options);
}

TEST(UnfoldedConvolutionTest, PaddingAroundSinglePixelsIsNoImage) {
  Convolution::Options options = SameConvolution(2, 3, 32, 48, /*size=*/1);
  options.window.padding_before = options.window.padding_after = {1, 1};
  options.output = {5, 5, 48};
  Expect(options);
}

}  // namespace
}  // namespace cairn::nn::testing
