#ifndef CAIRN_NN_CPU_CONV2D_KERNEL_H_
#define CAIRN_NN_CPU_CONV2D_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For Conv2DLayer.
std::unique_ptr<Kernel> CreateConv2DKernel(const Layer& layer, const KernelContext& context);

// For a ZeroPadding2D and the Conv2DLayer that is its options.next.
std::unique_ptr<Kernel> CreatePaddedConv2DKernel(const Layer& padding,
                                                 const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CONV2D_KERNEL_H_
