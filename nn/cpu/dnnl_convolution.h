#ifndef CAIRN_NN_CPU_DNNL_CONVOLUTION_H_
#define CAIRN_NN_CPU_DNNL_CONVOLUTION_H_

#include <memory>

#include "nn/cpu/convolution.h"
#include "nn/cpu/dnnl_context.h"

namespace cairn::nn {

// Convolution by oneDNN: with Winograd's algorithm where it is faster, otherwise direct.
class DnnlConvolution : public Convolution {
 public:
  // Throws dnnl::error and std::bad_alloc, which CpuDevice turns into a status.
  DnnlConvolution(const Options& options, const DnnlContext* context);
  ~DnnlConvolution() override;

  void Forward(const float* input, const float* kernel, const float* bias, float* output) override;
  void KernelGradient(const float* input, const float* output_gradient,
                      float* kernel_gradient) override;
  void InputGradient(const float* output_gradient, const float* kernel,
                     float* input_gradient) override;

 private:
  struct Pass;
  struct Primitives;

  void CreatePasses(const Options& options, bool winograd);

  const DnnlContext* const context_;
  const std::unique_ptr<Primitives> primitives_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_DNNL_CONVOLUTION_H_
