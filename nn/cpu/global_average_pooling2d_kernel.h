#ifndef CAIRN_NN_CPU_GLOBAL_AVERAGE_POOLING2D_KERNEL_H_
#define CAIRN_NN_CPU_GLOBAL_AVERAGE_POOLING2D_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For GlobalAveragePooling2DLayer.
std::unique_ptr<Kernel> CreateGlobalAveragePooling2DKernel(const Layer& layer,
                                                           const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_GLOBAL_AVERAGE_POOLING2D_KERNEL_H_
