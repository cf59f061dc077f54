#ifndef CAIRN_NN_CPU_UNFOLDED_CONVOLUTION_H_
#define CAIRN_NN_CPU_UNFOLDED_CONVOLUTION_H_

#include <optional>

#include "nn/cpu/convolution.h"
#include "nn/cpu/dense_product.h"
#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// A convolution of one group as a product of matrices: each output pixel is a row, which has what
// the window sees there, times the kernel as it lies. So the kernel is not moved; the windows are
// copied side by side, unless they are the image's pixels.
// https://hal.inria.fr/inria-00112631 (Chellapilla, Puri, Simard)
class UnfoldedConvolution : public Convolution {
 public:
  // Throws dnnl::error and std::bad_alloc, which CpuDevice turns into a status.
  UnfoldedConvolution(const Options& options, const DnnlContext* context);

  void Forward(const float* input, const float* kernel, const float* bias, float* output) override;
  void KernelGradient(const float* input, const float* output_gradient,
                      float* kernel_gradient) override;
  void InputGradient(const float* output_gradient, const float* kernel,
                     float* input_gradient) override;

 private:
  // Calls work(place among the rows, input pixel) for each pixel that the windows of an example
  // see, both counted in pixels; the latter is -1 in the padding.
  template <typename Work>
  void ForWindows(int64_t example, const Work& work) const;
  const float* Unfold(const float* input) const;
  void Fold(const float* rows, float* input) const;

  const Options options_;
  const DnnlContext* const context_;
  // Every window is one pixel, and the next one sees the next.
  const bool sees_pixels_;
  DenseProduct forward_;
  std::optional<DenseProduct> kernel_gradient_;
  std::optional<DenseProduct> input_gradient_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_UNFOLDED_CONVOLUTION_H_
