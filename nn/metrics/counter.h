#ifndef CAIRN_NN_METRICS_COUNTER_H_
#define CAIRN_NN_METRICS_COUNTER_H_

#include <functional>

#include "absl/types/span.h"
#include "nn/loss.h"

namespace cairn::nn {

// What a metric sees of batches: a state of a few numbers that begin at 0 and add up over batches,
// so that states of different workers merge by addition. Where they are counts that is exact in any
// order. Immutable, thread-safe.
class MetricCounter {
 public:
  virtual ~MetricCounter() = default;

  // How many numbers the state has, at least 1; a few thousand at most, for states travel and are
  // kept with every batch.
  virtual int state_size() const = 0;
  // Adds a batch. Labels have the loss's type, and are valid for it; weights do not matter.
  virtual void Count(const Loss::Batch& batch, absl::Span<double> state) const = 0;
};

// Makes a metric's value of a state.
using MetricResult = std::function<double(absl::Span<const double> state)>;

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_COUNTER_H_
