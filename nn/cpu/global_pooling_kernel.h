#ifndef CAIRN_NN_CPU_GLOBAL_POOLING_KERNEL_H_
#define CAIRN_NN_CPU_GLOBAL_POOLING_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For GlobalPoolingLayer.
std::unique_ptr<Kernel> CreateGlobalPoolingKernel(const Layer& layer, const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_GLOBAL_POOLING_KERNEL_H_
