#ifndef CAIRN_NN_CPU_RANDOM_FLIP_KERNEL_H_
#define CAIRN_NN_CPU_RANDOM_FLIP_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For RandomFlipLayer.
std::unique_ptr<Kernel> CreateRandomFlipKernel(const Layer& layer, const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_RANDOM_FLIP_KERNEL_H_
