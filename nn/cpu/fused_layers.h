#ifndef CAIRN_NN_CPU_FUSED_LAYERS_H_
#define CAIRN_NN_CPU_FUSED_LAYERS_H_

#include "nn/layer.h"

namespace cairn::nn {

// Device::CanFuse of the CPU. Fused pairs: BatchNormalization and ReLU (also with a max_value),
// ZeroPadding2D and a convolution, Add of two inputs and a plain ReLU.
bool HasFusedKernel(const Layer& first, const Layer& second);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_FUSED_LAYERS_H_
