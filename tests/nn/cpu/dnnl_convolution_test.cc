#include "nn/cpu/dnnl_convolution.h"

#include "gtest/gtest.h"
#include "tests/nn/cpu/convolution_loops.h"

namespace cairn::nn::testing {
namespace {

constexpr double kRounding = 1e-6;

// Winograd is used from 64 tiles and 32 channels on; its rounding errors are larger, but still
// small.
TEST(DnnlConvolutionTest, ManyTilesAreMultipliedWinogradsWay) {
  const DnnlContext context;
  for (int64_t side : {8, 13}) {
    Convolution::Options options = SameConvolution(16, side, 32, 48, 3);
    options.adds_bias = true;
    options.applies_relu = true;
    DnnlConvolution convolution(options, &context);
    ExpectProducts(options, &convolution, 4 * kRounding);
  }
}

TEST(DnnlConvolutionTest, KernelsOfEverySizeAreMovedToTheirBlocks) {
  const DnnlContext context;
  for (int64_t size : {1, 3, 5}) {
    for (int64_t filters : {1, 16, 33, 64, 96}) {
      const Convolution::Options options = SameConvolution(2, 6, 32, filters, size);
      DnnlConvolution convolution(options, &context);
      ExpectProducts(options, &convolution, kRounding);
    }
  }
}

TEST(DnnlConvolutionTest, GroupsAndStridesAreKept) {
  const DnnlContext context;
  Convolution::Options options = SameConvolution(3, 8, 8, 16, 3, /*groups=*/4);
  options.window.strides = {2, 2};
  options.window.padding_before = {0, 0};
  options.output = {4, 4, 16};
  DnnlConvolution convolution(options, &context);
  ExpectProducts(options, &convolution, kRounding);
}

TEST(DnnlConvolutionTest, LayersThatTakeTurnsDoNotDisturbEachOther) {
  const DnnlContext context;
  const Convolution::Options small = SameConvolution(2, 5, 16, 16, 3);
  const Convolution::Options large = SameConvolution(16, 9, 64, 64, 3);
  DnnlConvolution first(small, &context);
  DnnlConvolution second(large, &context);
  for (int round = 0; round < 2; ++round) {
    ExpectProducts(small, &first, kRounding);
    ExpectProducts(large, &second, 4 * kRounding);
  }
}

}  // namespace
}  // namespace cairn::nn::testing
