#include "nn/cpu/merged_mask.h"

#include <algorithm>

namespace cairn::nn {

void WriteMergedMask(const Layer& layer, int64_t examples, const ForwardArguments& arguments) {
  if (arguments.mask_output == nullptr) return;
  const int64_t steps = layer.output().shape[0];
  const bool joins = layer.mask_merge() == Layer::MaskMerge::kJoin;
  std::fill_n(arguments.mask_output, examples * steps, 0);
  int64_t offset = 0;
  for (size_t input = 0; input < layer.inputs().size(); ++input) {
    const int32_t* const mask = arguments.masks[input];
    const int64_t count = joins ? layer.inputs()[input].shape[0] : steps;
    for (int64_t i = 0; i < examples * count; ++i) {
      if (mask != nullptr && mask[i] == 0) continue;
      arguments.mask_output[i / count * steps + offset + i % count] = 1;
    }
    if (joins) offset += count;
  }
}

}  // namespace cairn::nn
