#ifndef CAIRN_NN_CPU_CONV2D_TRANSPOSE_KERNEL_H_
#define CAIRN_NN_CPU_CONV2D_TRANSPOSE_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For Conv2DTransposeLayer.
std::unique_ptr<Kernel> CreateConv2DTransposeKernel(const Layer& layer,
                                                    const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_CONV2D_TRANSPOSE_KERNEL_H_
