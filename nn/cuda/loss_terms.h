#ifndef CAIRN_NN_CUDA_LOSS_TERMS_H_
#define CAIRN_NN_CUDA_LOSS_TERMS_H_

#include <cstddef>
#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/loss.h"

namespace cairn::nn::cuda {

// One computation of a loss on the GPU. All pointers are to its memory.
struct LossTask {
  LossSpec spec;
  // Labels are class labels.
  bool sparse = false;
  // Those of Loss::Batch.
  const float* logits = nullptr;
  bool is_softmax = false;
  int64_t examples = 0;
  // The outputs of an example, and those of its last axis.
  int64_t elements = 0;
  int64_t width = 0;
  const float* output = nullptr;
  const void* labels = nullptr;
  const float* weights = nullptr;
  // Null: no gradient.
  float* gradient = nullptr;
  // As in Loss::Batch; the divisor is not 0.
  float gradient_scale = 1;
  int64_t gradient_divisor = 1;
  // Gets the sum of the loss over examples, times `sign`.
  double* loss = nullptr;
  double sign = 1;
  // Gets the sum of the weights of the examples, if not null.
  double* weight_sum = nullptr;
  // Gets 1 if a class label is out of range. Null: the loss is then NaN.
  double* invalid = nullptr;
  // Memory for one number, which losses with UsesLabelStatistic need.
  double* label_statistic = nullptr;
};

// Whether the GPU computes the loss. If not, Loss::Compute does.
inline bool CanComputeLoss(const LossSpec& spec) { return spec.kind != LossSpec::Kind::kOther; }

// Whether a term depends on all labels of the batch.
inline bool UsesLabelStatistic(const LossSpec& spec) {
  return spec.has_ignored_class || spec.kind == LossSpec::Kind::kHinge ||
         spec.kind == LossSpec::Kind::kSquaredHinge;
}

// Scratch memory that ComputeLoss needs.
size_t LossScratchBytes();
// Computes what Loss::Compute does.
void ComputeLoss(Context* context, const LossTask& task);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_LOSS_TERMS_H_
