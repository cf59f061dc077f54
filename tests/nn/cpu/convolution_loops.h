#ifndef CAIRN_TESTS_NN_CPU_CONVOLUTION_LOOPS_H_
#define CAIRN_TESTS_NN_CPU_CONVOLUTION_LOOPS_H_

#include <vector>

#include "nn/cpu/convolution.h"

namespace cairn::nn::testing {

// A convolution's forward pass and gradients as plain loops in double precision, with the sum of
// the magnitudes of the terms (`reach`), against which rounding errors are measured.
struct LoopProducts {
  std::vector<double> forward;
  std::vector<double> kernel_gradient;
  std::vector<double> input_gradient;
  double forward_reach = 0;
  double kernel_reach = 0;
  double input_reach = 0;
};

// The operands of a convolution, drawn from [-1, 1).
struct ConvolutionData {
  explicit ConvolutionData(const Convolution::Options& options);

  std::vector<float> input;
  std::vector<float> kernel;
  std::vector<float> bias;
  std::vector<float> output_gradient;
};

LoopProducts ComputeByLoops(const Convolution::Options& options, const ConvolutionData& data);

// Runs the forward pass and both gradients and compares them. Differences up to `tolerance` x reach
// are accepted.
void ExpectProducts(const Convolution::Options& options, Convolution* convolution,
                    double tolerance);

// A square image with "same" padding, as in most networks.
Convolution::Options SameConvolution(int64_t examples, int64_t side, int64_t channels,
                                     int64_t filters, int64_t size, int64_t groups = 1);

}  // namespace cairn::nn::testing

#endif  // CAIRN_TESTS_NN_CPU_CONVOLUTION_LOOPS_H_
