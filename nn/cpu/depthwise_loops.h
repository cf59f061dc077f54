#ifndef CAIRN_NN_CPU_DEPTHWISE_LOOPS_H_
#define CAIRN_NN_CPU_DEPTHWISE_LOOPS_H_

#include <cstdint>

namespace cairn::nn {

// Vectorized passes along one row of a depthwise 3x3 convolution. Rows of images and kernels have
// layout (pixels, channels). `rows` are the three rows that the kernel's rows multiply; a row
// outside of the image must be zeros. Thread-safe: no shared state.
struct DepthwiseRow {
  // True if the loops support the row: the channels fill whole vectors, the stride is 1 or 2, and
  // at every position at least two columns of the kernel, including the middle one, are inside the
  // image.
  bool fits() const;

  int64_t channels = 0;
  int64_t inputs = 0;  // Pixels of an input row.
  int64_t outputs = 0;
  int64_t stride = 1;
  int64_t padding = 0;  // Before the row; the padding after it follows from `outputs`.
};

// Writes one row of the output, with bias unless it is null.
void WriteDepthwiseOutput(const DepthwiseRow& row, const float* const rows[3], const float* kernel,
                          const float* bias, float* output);
// Adds the contribution of one output row to the kernel's gradient.
void AddDepthwiseKernelGradient(const DepthwiseRow& row, const float* const rows[3],
                                const float* output_gradient, float* kernel_gradient);
// Writes one row of the input's gradient; `rows` are rows of the output's gradient.
void WriteDepthwiseInputGradient(const DepthwiseRow& row, const float* const rows[3],
                                 const float* kernel, float* input_gradient);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_DEPTHWISE_LOOPS_H_
