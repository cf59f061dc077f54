#ifndef CAIRN_NN_CUDA_METRIC_STATES_H_
#define CAIRN_NN_CUDA_METRIC_STATES_H_

#include <cstddef>
#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/metrics/accumulator.h"

namespace cairn::nn::cuda {

// A batch whose metrics are computed. All pointers are to the GPU's memory. `elements`, `width`,
// `logits` and `is_softmax` are those of LossTask (loss_terms.h).
struct MeasuredBatch {
  int64_t examples = 0;
  int64_t elements = 0;
  int64_t width = 0;
  const float* logits = nullptr;
  bool is_softmax = false;
  const float* output = nullptr;
  const void* labels = nullptr;
  const float* weights = nullptr;
  // The loss of the batch.
  const double* loss = nullptr;
};

// Whether the GPU computes the metric. If not, MetricAccumulator::Accumulate does.
bool CanComputeMetric(const MetricSpec& spec);
// Scratch memory that ComputeState needs.
size_t StateScratchBytes(const MetricSpec& spec);
// Writes the metric's state for this batch alone. `label_statistic` is that of LossTask.
void ComputeState(Context* context, const MetricSpec& spec, const MeasuredBatch& batch,
                  double* label_statistic, double* state);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_METRIC_STATES_H_
