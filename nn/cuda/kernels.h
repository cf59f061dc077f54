#ifndef CAIRN_NN_CUDA_KERNELS_H_
#define CAIRN_NN_CUDA_KERNELS_H_

#include <memory>

#include "nn/cuda/context.h"
#include "nn/device.h"
#include "nn/kernel.h"
#include "nn/layer.h"

namespace cairn::nn::cuda {

// The options of a kernel and what all kernels of a GPU share.
struct KernelContext {
  Device::KernelOptions options;
  Context* cuda = nullptr;
};

// The kernels of GPUs. They mirror those of nn/cpu/kernels.h: CreateXKernel creates the kernel for
// one class of layers; `layer` must be of that class. It is defined in x_kernel.cu, those of all
// convolutions in convolution_kernel.cu.
// CudaDevice maps Keras's class names to these factories.
//
// `layer` and *context.cuda must outlive the kernel. A kernel submits its work to the stream and
// notes errors in *context.cuda. A factory throws OutOfMemory.
std::unique_ptr<Kernel> CreateActivationKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateAdaptivePoolingKernel(const Layer& layer,
                                                    const KernelContext& context);
std::unique_ptr<Kernel> CreateAffineKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateAttentionKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateBatchNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context);
std::unique_ptr<Kernel> CreateConcatenateKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateConv2DKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateConv2DTransposeKernel(const Layer& layer,
                                                    const KernelContext& context);
std::unique_ptr<Kernel> CreateConvLstmKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateConv3DKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateDenseKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateDotKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateDropoutKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateEinsumDenseKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateEmbeddingKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateEncodingKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateGaussianNoiseKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateGlobalPoolingKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateLayerNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context);
std::unique_ptr<Kernel> CreateLayerOutputKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateMaskingKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreateMergeKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreatePReLUKernel(const Layer& layer, const KernelContext& context);
std::unique_ptr<Kernel> CreatePooling2DKernel(const Layer& layer, const KernelContext& context);
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
std::unique_ptr<Kernel> CreateSeparableConv2DKernel(const Layer& layer,
                                                    const KernelContext& context);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_KERNELS_H_
