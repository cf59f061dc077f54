#ifndef CAIRN_NN_CPU_RANDOM_CROP_KERNEL_H_
#define CAIRN_NN_CPU_RANDOM_CROP_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For RandomCropLayer.
std::unique_ptr<Kernel> CreateRandomCropKernel(const Layer& layer, const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_RANDOM_CROP_KERNEL_H_
