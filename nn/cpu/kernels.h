#ifndef CAIRN_NN_CPU_KERNELS_H_
#define CAIRN_NN_CPU_KERNELS_H_

#include <memory>

#include "nn/device.h"
#include "nn/kernel.h"
#include "nn/layer.h"

namespace cairn::nn {

struct DnnlContext;

// The options of a kernel and the oneDNN state that all kernels of a device share.
struct KernelContext {
  Device::KernelOptions options;
  const DnnlContext* dnnl = nullptr;
};

// The kernels of the CPU. CreateXKernel, defined in x_kernel.cc, creates the kernel for one class
// of layers (nn/layers); `layer` must be of that class. CpuDevice maps Keras's class names to these
// factories.
//
// `layer`, context.options.next and *context.dnnl must outlive the kernel. A kernel uses as many
// threads as CpuDevice::UseThreads allows, and is itself used by one thread. A factory throws
// dnnl::error or std::bad_alloc, which CpuDevice::CreateKernel turns into a status.
std::unique_ptr<Kernel> CreateActivationKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateAdaptivePoolingKernel(const Layer& layer,
                                                    const KernelContext& context);
std::unique_ptr<Kernel> CreateAffineKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateAttentionKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateBatchNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context);
std::unique_ptr<Kernel> CreateCategoryEncodingKernel(const Layer& layer,
                                                     const KernelContext& context);
std::unique_ptr<Kernel> CreateConcatenateKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateConv2DKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateConv2DTransposeKernel(const Layer& layer,
                                                    const KernelContext& context);
std::unique_ptr<Kernel> CreateConv3DKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateConvLstmKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateDenseKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateDiscretizationKernel(const Layer& layer,
                                                   const KernelContext& context);
std::unique_ptr<Kernel> CreateDotKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateDropoutKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateEinsumDenseKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateEmbeddingKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateGaussianNoiseKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateGlobalPoolingKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateLayerNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context);
std::unique_ptr<Kernel> CreateLayerOutputKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateMaskingKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateMergeKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreatePooling2DKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreatePReLUKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateRandomAffineKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateRandomColorKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateRandomCropKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateRandomFlipKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateRandomPixelsKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateRearrangingKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateRecurrentKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateResizingKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateScoreAttentionKernel(const Layer& layer,
                                                   const KernelContext& context);
std::unique_ptr<Kernel> CreateStringLookupKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateSeparableConv2DKernel(const Layer& layer,
                                                    const KernelContext& context);

// Kernels of fused pairs (see fused_layers.h). The second layer is context.options.next. The
// factories of Add and ZeroPadding2D call these if there is one.
//
// An Add of two inputs of its output's shape, and a plain ReLU.
std::unique_ptr<Kernel> CreateAddReluKernel(const Layer& add, const KernelContext& context);
// A ZeroPadding2D and a convolution.
std::unique_ptr<Kernel> CreatePaddedConv2DKernel(const Layer& padding,
                                                 const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_KERNELS_H_
