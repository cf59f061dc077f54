#ifndef CAIRN_NN_CPU_REARRANGING_KERNEL_H_
#define CAIRN_NN_CPU_REARRANGING_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For RearrangingLayer.
std::unique_ptr<Kernel> CreateRearrangingKernel(const Layer& layer, const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_REARRANGING_KERNEL_H_
