#include "common/random.h"
#include "nn/cuda/attention_weights.h"
#include "nn/cuda/loops.h"

namespace cairn::nn::cuda {
namespace {

using Masked = AttentionScores::Masked;

constexpr float kMasked = -1e9f;

__device__ float ScaleOf(const AttentionScores& of) {
  return of.trained_scale == nullptr ? of.scale : of.scale * *of.trained_scale;
}

// Which scores of one step are masked.
class RowMask {
 public:
  __device__ RowMask(const AttentionScores& of, int64_t row) {
    const int64_t step = row % of.steps;
    const int64_t example = row / of.steps / of.heads;
    const bool is_masked = of.step_mask != nullptr && of.step_mask[example * of.steps + step] == 0;
    open_end_ = is_masked ? 0 : of.is_causal && step < of.positions ? step + 1 : of.positions;
    for (int i = 0; i < 2; ++i) {
      const int32_t* const mask = of.position_masks[i];
      masks_[i] = mask == nullptr ? nullptr : mask + example * of.positions;
    }
    if (of.score_mask == nullptr) return;
    const std::array<int64_t, 4>& strides = of.score_mask_strides;
    of_scores_ = of.score_mask + example * strides[0] + row / of.steps % of.heads * strides[1] +
                 step * strides[2];
    stride_ = strides[3];
  }

  __device__ bool operator[](int64_t position) const {
    bool is_masked = position >= open_end_;
    for (const int32_t* const mask : masks_) {
      is_masked = is_masked || (mask != nullptr && mask[position] == 0);
    }
    return is_masked || (of_scores_ != nullptr && of_scores_[position * stride_] == 0);
  }

 private:
  int64_t open_end_;  // The first position that all scores of this step are masked from.
  const int32_t* masks_[2];
  const float* of_scores_ = nullptr;
  int64_t stride_ = 0;
};

// The scores of one step, scaled and masked.
class ScoreRow {
 public:
  __device__ ScoreRow(const AttentionScores& of, int64_t row, const float* scores)
      : mask_(of, row),
        scores_(scores + row * of.positions),
        scale_(ScaleOf(of)),
        is_lowered_(of.masked == Masked::kLowered) {}

  __device__ bool IsMasked(int64_t position) const { return mask_[position]; }
  __device__ float operator[](int64_t position) const {
    if (!mask_[position]) return scores_[position] * scale_;
    return is_lowered_ ? scores_[position] * scale_ + kMasked : kMasked;
  }

 private:
  const RowMask mask_;
  const float* const scores_;
  const float scale_;
  const bool is_lowered_;
};

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
    // The scores are computed in each pass, which costs less than storing them. They may be
    // overwritten in the last one, as a thread reads and writes the same elements.
    const ScoreRow from(of, row, scores);
    float* const to = weights + row * of.positions;
    double maximum = -std::numeric_limits<double>::infinity();
    for (int64_t i = block.first(); i < of.positions; i += block.step()) {
      maximum = fmax(maximum, static_cast<double>(from[i]));
    }
    const float highest = static_cast<float>(block.Maximum(maximum));
    double sum = 0;
    for (int64_t i = block.first(); i < of.positions; i += block.step()) {
      sum += expf(from[i] - highest);
    }
    const float factor = static_cast<float>(1 / block.Sum(sum));
    for (int64_t i = block.first(); i < of.positions; i += block.step()) {
      const bool is_zero = of.masked == Masked::kZeroed && from.IsMasked(i);
      const float weight = is_zero ? 0 : expf(from[i] - highest) * factor;
      const int64_t at = row * of.positions + i;
      if (dropped != nullptr) dropped[at] = weight * KeepFactor(of, at);
      to[i] = weight;
    }
  });
}

// Of softmax: weight * (g - sum of g weight).
void BackThroughAttentionWeights(Context* context, const AttentionScores& of, const float* weights,
                                 const float* scores, float* gradient, double* row_sums) {
  ForEachRow(context, of.rows, of.positions, [=] __device__(int64_t row, const RowBlock& block) {
    const int64_t begin = row * of.positions;
    const int64_t end = begin + of.positions;
    const RowMask mask(of, row);
    const float scale = ScaleOf(of);
    double along = 0;
    for (int64_t i = begin + block.first(); i < end; i += block.step()) {
      gradient[i] *= KeepFactor(of, i);
      along += static_cast<double>(gradient[i]) * weights[i];
    }
    along = block.Sum(along);
    double product = 0;
    for (int64_t i = begin + block.first(); i < end; i += block.step()) {
      const bool is_constant = of.masked != Masked::kLowered && mask[i - begin];
      const float by_scaled =
          is_constant ? 0 : static_cast<float>(weights[i] * (gradient[i] - along));
      if (row_sums != nullptr) product += static_cast<double>(by_scaled) * scores[i];
      gradient[i] = by_scaled * scale;
    }
    if (row_sums == nullptr) return;
    product = block.Sum(product);
    if (block.first() == 0) row_sums[row] = product;
  });
}

}  // namespace cairn::nn::cuda
