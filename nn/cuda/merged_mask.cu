#include "nn/cuda/loops.h"
#include "nn/cuda/merged_mask.h"

namespace cairn::nn::cuda {
namespace {

// Adds the mask of `count` steps of an input, whose first step is `offset` of the output. The first
// input that writes a step also clears it. A null mask is valid.
void AddMask(Context* context, int64_t examples, int64_t count, int64_t steps, int64_t offset,
             bool clears, const int32_t* mask, int32_t* to) {
  const Divisor columns = count;
  ForEach(context, examples * count, [=] __device__(int64_t i) {
    const int64_t example = i / columns;
    int32_t* const step = to + example * steps + offset + (i - example * columns);
    const bool is_valid = mask == nullptr || mask[i] != 0;
    if (clears || is_valid) *step = is_valid ? 1 : 0;
  });
}

}  // namespace

void WriteMergedMask(Context* context, const Layer& layer, int64_t examples,
                     const ForwardArguments& arguments) {
  if (arguments.mask_output == nullptr) return;
  const int64_t steps = layer.output().shape[0];
  const bool joins = layer.mask_merge() == Layer::MaskMerge::kJoin;
  int64_t offset = 0;
  for (size_t input = 0; input < layer.inputs().size(); ++input) {
    const int64_t count = joins ? layer.inputs()[input].shape[0] : steps;
    AddMask(context, examples, count, steps, offset, joins || input == 0, arguments.masks[input],
            arguments.mask_output);
    if (joins) offset += count;
  }
}

}  // namespace cairn::nn::cuda
