#ifndef CAIRN_NN_CPU_SEPARABLE_CONV2D_KERNEL_H_
#define CAIRN_NN_CPU_SEPARABLE_CONV2D_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For SeparableConv2DLayer.
std::unique_ptr<Kernel> CreateSeparableConv2DKernel(const Layer& layer,
                                                    const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_SEPARABLE_CONV2D_KERNEL_H_
