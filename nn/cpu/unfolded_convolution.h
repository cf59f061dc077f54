#ifndef CAIRN_NN_CPU_UNFOLDED_CONVOLUTION_H_
#define CAIRN_NN_CPU_UNFOLDED_CONVOLUTION_H_

#include <optional>

#include "nn/cpu/convolution.h"
#include "nn/cpu/dense_product.h"
#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// A convolution without groups as a matrix product (im2col): row i of the left matrix holds the
// window of output pixel i; the right matrix is the kernel in Keras's layout, which needs no
// reordering. A 1x1 convolution with stride 1 uses the image itself. Chellapilla, Puri & Simard
// 2006, https://hal.inria.fr/inria-00112631
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
  // Calls work(row pixel, input pixel) for each pixel of each window of an example. The first is
  // the pixel's index in the unfolded matrix, the second its index in the input, or -1 in the
  // padding.
  template <typename Work>
  void ForWindows(int64_t example, const Work& work) const;
  // im2col: copies the windows to scratch memory. Returns the input itself if is_pointwise_.
  const float* Unfold(const float* input) const;
  // col2im: adds the windows to the input's gradient.
  void Fold(const float* rows, float* input) const;

  const Options options_;
  const DnnlContext* const context_;
  // True if every window is the input pixel at the output pixel's position.
  const bool is_pointwise_;
  DenseProduct forward_;
  std::optional<DenseProduct> kernel_gradient_;
  std::optional<DenseProduct> input_gradient_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_UNFOLDED_CONVOLUTION_H_
