#include "nn/cpu/create_convolution.h"

#include "gtest/gtest.h"
#include "tests/nn/cpu/convolution_loops.h"

namespace cairn::nn::testing {
namespace {

// Sizes on both sides of the thresholds between the algorithms.
TEST(CreateConvolutionTest, EveryWayComputesTheSame) {
  const DnnlContext context;
  for (const Convolution::Options& options :
       {SameConvolution(4, 2, 16, 32, 3), SameConvolution(5, 2, 16, 32, 3),
        SameConvolution(4, 16, 8, 16, 1), SameConvolution(6, 16, 8, 16, 1),
        SameConvolution(3, 6, 16, 16, 3, /*groups=*/2),
        SameConvolution(3, 6, 16, 16, 3, /*groups=*/16),
        SameConvolution(3, 6, 17, 17, 3, /*groups=*/17)}) {
    ExpectProducts(options, CreateConvolution(options, &context).get(), /*tolerance=*/1e-6);
  }
}

}  // namespace
}  // namespace cairn::nn::testing
