#ifndef CAIRN_NN_CPU_MERGED_MASK_H_
#define CAIRN_NN_CPU_MERGED_MASK_H_

#include <cstdint>

#include "nn/kernel.h"
#include "nn/layer.h"

namespace cairn::nn {

// Writes the mask of a layer that merges those of its inputs (Layer::mask_merge). Does nothing if
// the layer has none to write.
void WriteMergedMask(const Layer& layer, int64_t examples, const ForwardArguments& arguments);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_MERGED_MASK_H_
