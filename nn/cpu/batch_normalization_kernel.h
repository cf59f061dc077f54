#ifndef CAIRN_NN_CPU_BATCH_NORMALIZATION_KERNEL_H_
#define CAIRN_NN_CPU_BATCH_NORMALIZATION_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For BatchNormalizationLayer.
std::unique_ptr<Kernel> CreateBatchNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_BATCH_NORMALIZATION_KERNEL_H_
