#ifndef CAIRN_NN_CUDA_MERGED_MASK_H_
#define CAIRN_NN_CUDA_MERGED_MASK_H_

#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/kernel.h"
#include "nn/layer.h"

namespace cairn::nn::cuda {

// Writes the mask of a layer that merges those of its inputs (Layer::mask_merge). Does nothing if
// the layer has none to write.
void WriteMergedMask(Context* context, const Layer& layer, int64_t examples,
                     const ForwardArguments& arguments);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_MERGED_MASK_H_
