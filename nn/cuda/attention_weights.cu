#include "common/random.h"
#include "nn/cuda/attention_weights.h"
#include "nn/cuda/loops.h"

namespace cairn::nn::cuda {
namespace {

constexpr float kMasked = -1e9f;

__device__ bool IsMasked(const AttentionScores& of, int64_t row, int64_t position) {
  const int64_t step = row % of.steps;
  const int64_t example = row / of.steps / of.heads;
  if (of.is_causal && position > step) return true;
  if (of.step_mask != nullptr && of.step_mask[example * of.steps + step] == 0) return true;
  for (const int32_t* const mask : of.position_masks) {
    if (mask != nullptr && mask[example * of.positions + position] == 0) return true;
  }
  return false;
}

__device__ float ScaleOf(const AttentionScores& of) {
  return of.trained_scale == nullptr ? of.scale : of.scale * *of.trained_scale;
}

// What dropout multiplies a weight by.
__device__ float KeepFactor(const AttentionScores& of, int64_t weight) {
  if (of.dropout == 0) return 1;
  const bool drops = RandomUniform(of.random_key, weight) < of.dropout;
  return drops ? 0 : static_cast<float>(1 / (1 - of.dropout));
}

}  // namespace

const int32_t* MaskOf(absl::Span<const int32_t* const> masks, size_t input) {
  return masks.size() > input ? masks[input] : nullptr;
}

void ComputeAttentionWeights(Context* context, const AttentionScores& of, const float* scores,
                             float* weights, float* dropped) {
  ForEachRow(context, of.rows, of.positions, [=] __device__(int64_t row, const RowBlock& block) {
    const float* const from = scores + row * of.positions;
    float* const to = weights + row * of.positions;
    const float scale = ScaleOf(of);
    double maximum = -std::numeric_limits<double>::infinity();
    for (int64_t i = block.first(); i < of.positions; i += block.step()) {
      // A thread reads and writes the same elements, so the scores may be overwritten.
      const float score = from[i] * scale + (IsMasked(of, row, i) ? kMasked : 0);
      to[i] = score;
      maximum = fmax(maximum, static_cast<double>(score));
    }
    const float highest = static_cast<float>(block.Maximum(maximum));
    double sum = 0;
    for (int64_t i = block.first(); i < of.positions; i += block.step()) {
      to[i] = expf(to[i] - highest);
      sum += to[i];
    }
    const float factor = static_cast<float>(1 / block.Sum(sum));
    for (int64_t i = block.first(); i < of.positions; i += block.step()) {
      to[i] *= factor;
      const int64_t weight = row * of.positions + i;
      if (dropped != nullptr) dropped[weight] = to[i] * KeepFactor(of, weight);
    }
  });
}

// Of softmax: weight * (g - sum of g weight).
void BackThroughAttentionWeights(Context* context, const AttentionScores& of, const float* weights,
                                 const float* scores, float* gradient, double* row_sums) {
  ForEachRow(context, of.rows, of.positions, [=] __device__(int64_t row, const RowBlock& block) {
    const int64_t begin = row * of.positions;
    const int64_t end = begin + of.positions;
    const float scale = ScaleOf(of);
    double along = 0;
    for (int64_t i = begin + block.first(); i < end; i += block.step()) {
      gradient[i] *= KeepFactor(of, i);
      along += static_cast<double>(gradient[i]) * weights[i];
    }
    along = block.Sum(along);
    double product = 0;
    for (int64_t i = begin + block.first(); i < end; i += block.step()) {
      const float by_scaled = static_cast<float>(weights[i] * (gradient[i] - along));
      if (row_sums != nullptr) product += static_cast<double>(by_scaled) * scores[i];
      gradient[i] = by_scaled * scale;
    }
    if (row_sums == nullptr) return;
    product = block.Sum(product);
    if (block.first() == 0) row_sums[row] = product;
  });
}

}  // namespace cairn::nn::cuda
