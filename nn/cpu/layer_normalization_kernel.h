#ifndef CAIRN_NN_CPU_LAYER_NORMALIZATION_KERNEL_H_
#define CAIRN_NN_CPU_LAYER_NORMALIZATION_KERNEL_H_

#include <memory>

#include "nn/cpu/kernel_context.h"

namespace cairn::nn {

// For LayerNormalizationLayer.
std::unique_ptr<Kernel> CreateLayerNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_LAYER_NORMALIZATION_KERNEL_H_
