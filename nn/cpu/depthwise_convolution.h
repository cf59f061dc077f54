#ifndef CAIRN_NN_CPU_DEPTHWISE_CONVOLUTION_H_
#define CAIRN_NN_CPU_DEPTHWISE_CONVOLUTION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "nn/cpu/convolution.h"
#include "nn/cpu/depthwise_loops.h"
#include "nn/cpu/parallel.h"

namespace cairn::nn {

// A depthwise 3x3 convolution. It has so few multiplications that memory bandwidth limits it, so
// images are read and written once, row by row.
class DepthwiseConvolution : public Convolution {
 public:
  // True if this class supports the options.
  static bool Fits(const Options& options);

  // Throws std::bad_alloc.
  explicit DepthwiseConvolution(const Options& options);

  void Forward(const float* input, const float* kernel, const float* bias, float* output) override;
  void KernelGradient(const float* input, const float* output_gradient,
                      float* kernel_gradient) override;
  void InputGradient(const float* output_gradient, const float* kernel,
                     float* input_gradient) override;

 private:
  using Rows = std::array<const float*, 3>;

  // InputRows returns the three rows of the input that contribute to an output row, in the order of
  // the kernel's rows. OutputRows returns the three rows of the output that an input row
  // contributes to. Rows outside of the image are zeros. Row indices count through all examples.
  Rows InputRows(const float* images, int64_t output_row) const;
  Rows OutputRows(const float* outputs, int64_t input_row) const;
  void SumKernelGradient(int64_t piece, const float* input, const float* output_gradient);

  const Options options_;
  const DepthwiseRow row_;
  // Number of floats in an input row, in an output row and in the kernel.
  const int64_t input_width_;
  const int64_t output_width_;
  const int64_t kernel_size_;
  const RowPieces input_rows_;
  const RowPieces output_rows_;
  const std::vector<float> zeros_;
  // The kernel's gradient per piece of output rows: of a few rows in float, and of all rows in
  // double.
  std::vector<float> few_rows_;
  std::vector<double> sums_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_DEPTHWISE_CONVOLUTION_H_
