#ifndef CAIRN_NN_CPU_DEPTHWISE_CONVOLUTION_H_
#define CAIRN_NN_CPU_DEPTHWISE_CONVOLUTION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "nn/cpu/convolution.h"
#include "nn/cpu/depthwise_loops.h"
#include "nn/cpu/parallel.h"

namespace cairn::nn {

// A convolution of each channel by itself with 3x3 pixels: so few products that it is a matter of
// memory. Images are read and written once, row by row.
class DepthwiseConvolution : public Convolution {
 public:
  // Whether it can compute that.
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

  // The rows of the images that a row of the outputs sees, and the rows of the outputs that see a
  // row of the images, as the kernel's rows meet them; zeros where there is none. Rows are counted
  // through all examples.
  Rows SeenRows(const float* images, int64_t output_row) const;
  Rows SeeingRows(const float* outputs, int64_t input_row) const;
  void SumKernelGradient(int64_t piece, const float* input, const float* output_gradient);

  const Options options_;
  const DepthwiseRow row_;
  // Floats of an image's row, of an output's row, of the kernel.
  const int64_t input_width_;
  const int64_t output_width_;
  const int64_t kernel_size_;
  const RowPieces input_rows_;
  const RowPieces output_rows_;
  const std::vector<float> zeros_;
  // The kernel's gradient from a few rows, and from all, of each piece of the output.
  std::vector<float> few_rows_;
  std::vector<double> sums_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_DEPTHWISE_CONVOLUTION_H_
