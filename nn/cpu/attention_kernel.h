#ifndef CAIRN_NN_CPU_ATTENTION_KERNEL_H_
#define CAIRN_NN_CPU_ATTENTION_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For AttentionLayer.
std::unique_ptr<Kernel> CreateAttentionKernel(const Layer& layer, const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_ATTENTION_KERNEL_H_
