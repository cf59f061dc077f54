#ifndef CAIRN_NN_CPU_FUSED_LAYERS_H_
#define CAIRN_NN_CPU_FUSED_LAYERS_H_

#include "nn/layer.h"

namespace cairn::nn {

// Device::Fuses of the CPU. The pairs: BatchNormalization and relu (also with a largest value),
// ZeroPadding2D and a convolution, Add of two and plain relu.
bool HasFusedKernel(const Layer& first, const Layer& second);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_FUSED_LAYERS_H_
