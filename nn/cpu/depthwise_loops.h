#ifndef CAIRN_NN_CPU_DEPTHWISE_LOOPS_H_
#define CAIRN_NN_CPU_DEPTHWISE_LOOPS_H_

#include <cstdint>

namespace cairn::nn {

// Vectorised passes along one row of a depthwise convolution with 3x3 pixels, whose rows of images
// and kernels are (pixels, channels). `rows` are the three rows that the kernel's rows meet; where
// the image has none it is one of zeros. Any number of threads.
struct DepthwiseRow {
  // Whether the loops are for it: whole vectors of channels, strides of 1 or 2, and at every step
  // at least two columns of the kernel, the middle one among them, see the image.
  bool fits() const;

  int64_t channels = 0;
  int64_t inputs = 0;  // Pixels of the image's row.
  int64_t outputs = 0;
  int64_t stride = 1;
  int64_t padding = 0;  // Before the image; after it there is what the outputs need.
};

// Writes a row of the output: + bias unless that is null.
void WriteDepthwiseOutput(const DepthwiseRow& row, const float* const rows[3], const float* kernel,
                          const float* bias, float* output);
// Adds what a row of the output contributes to the kernel's gradient.
void AddDepthwiseKernelGradient(const DepthwiseRow& row, const float* const rows[3],
                                const float* output_gradient, float* kernel_gradient);
// Writes a row of the input's gradient; `rows` are of the output's.
void WriteDepthwiseInputGradient(const DepthwiseRow& row, const float* const rows[3],
                                 const float* kernel, float* input_gradient);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_DEPTHWISE_LOOPS_H_
