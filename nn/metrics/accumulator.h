#ifndef CAIRN_NN_METRICS_ACCUMULATOR_H_
#define CAIRN_NN_METRICS_ACCUMULATOR_H_

#include <functional>

#include "absl/types/span.h"
#include "nn/loss.h"

namespace cairn::nn {

// Accumulates a metric's state over batches. A state is a few numbers that start at 0 and add up,
// so the states of several workers merge by addition. Counts add up exactly in any order. Immutable
// and thread-safe.
class MetricAccumulator {
 public:
  virtual ~MetricAccumulator() = default;

  // The length of the state, at least 1 and at most a few thousand, because a state is sent and
  // stored per batch.
  virtual int state_size() const = 0;
  // Adds a batch to `state`. The labels have the loss's type and are valid for the loss. Weights
  // are ignored, except by CreateWeighted's.
  virtual void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const = 0;
};

// Computes a metric's value from a state.
using MetricResult = std::function<double(absl::Span<const double> state)>;

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_ACCUMULATOR_H_
