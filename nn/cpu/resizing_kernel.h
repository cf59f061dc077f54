#ifndef CAIRN_NN_CPU_RESIZING_KERNEL_H_
#define CAIRN_NN_CPU_RESIZING_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For ResizingLayer.
std::unique_ptr<Kernel> CreateResizingKernel(const Layer& layer, const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_RESIZING_KERNEL_H_
