#ifndef CAIRN_NN_CUDA_ATTENTION_WEIGHTS_H_
#define CAIRN_NN_CUDA_ATTENTION_WEIGHTS_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "nn/cuda/context.h"

namespace cairn::nn::cuda {

// The scores of an attention layer, (example, head, step, position), and what the layer does with
// them. Pointers are to device memory.
struct AttentionScores {
  int64_t rows = 0;  // examples * heads * steps
  int64_t heads = 1;
  int64_t steps = 0;
  int64_t positions = 0;
  // A score is multiplied by `scale` and, unless it is null, by *trained_scale.
  float scale = 1;
  const float* trained_scale = nullptr;
  // Later positions than the step are masked.
  bool is_causal = false;
  // One word for each step or position of an example; zero: masked. Null: none is masked.
  const int32_t* step_mask = nullptr;
  const int32_t* position_masks[2] = {};
  // One number for each score, zero: masked; null: none is. The strides are those of an example, a
  // head, a step and a position, 0 where the mask is the same for all.
  const float* score_mask = nullptr;
  std::array<int64_t, 4> score_mask_strides = {};
  // A masked score is 1e9 lower, as in Keras's Attention; or -1e9, so that it has no gradient; or
  // that, and its weight is zero even if all scores of the step are masked. See AttentionLayer.
  enum class Masked { kLowered, kReplaced, kZeroed } masked = Masked::kLowered;
  // The rate of dropout, and the key of its draws: draw i is that of weight i.
  double dropout = 0;
  uint64_t random_key = 0;
};

// Mask `input` of a call, null if there is none.
const int32_t* MaskOf(absl::Span<const int32_t* const> masks, size_t input);

// weights = softmax(scores). `weights` may be the scores. If `dropped` is not null, it gets the
// weights after dropout.
void ComputeAttentionWeights(Context* context, const AttentionScores& of, const float* scores,
                             float* weights, float* dropped);

// Turns the gradient with respect to the weights after dropout, in place, into that with respect to
// the scores before they are scaled. If `row_sums` is not null, it gets for each row the sum of the
// gradients by the scaled scores times `scores`: the row's part of the gradient by the trained
// scale.
void BackThroughAttentionWeights(Context* context, const AttentionScores& of, const float* weights,
                                 const float* scores, float* gradient, double* row_sums);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_ATTENTION_WEIGHTS_H_
