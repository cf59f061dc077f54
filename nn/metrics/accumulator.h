#ifndef CAIRN_NN_METRICS_ACCUMULATOR_H_
#define CAIRN_NN_METRICS_ACCUMULATOR_H_

#include <functional>

#include "absl/types/span.h"
#include "nn/loss.h"

namespace cairn::nn {

// The formula and the arguments of a metric as numbers, for devices that compute metrics
// themselves.
struct MetricSpec {
  enum class Kind {
    kOther,  // Only MetricAccumulator::Accumulate computes it.
    kAuc,
    kBinaryAccuracy,
    kBinaryIou,
    kCategoricalAccuracy,
    kConfusion,
    kCorrelation,
    kFBeta,
    kIou,
    kLossMean,
    kOwnLossMean,
    kR2,
  };

  Kind kind = Kind::kOther;
  // Each example counts with its weight.
  bool weighted = false;
  // Labels are class labels.
  bool sparse = false;
  // kCategoricalAccuracy: the label must be among the k largest outputs. kConfusion: only they can
  // be positive; 0: all can.
  int64_t k = 0;
  float threshold = 0;
  bool has_threshold = true;
  // The only class that counts; -1: all.
  int64_t class_id = -1;
  // kConfusion: the numbers of the state, as values of Confusion.
  int kinds[4] = {};
  int kind_count = 0;
  int thresholds = 0;  // kAuc
  bool from_logits = false;
  int64_t classes = 0;
  bool concordance = false;
  // kLossMean: the loss, which the accumulator owns, and the sign of the mean.
  const Loss* loss = nullptr;
  double sign = 1;
};

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
  virtual MetricSpec spec() const { return {}; }
};

// Computes a metric's value from a state.
using MetricResult = std::function<double(absl::Span<const double> state)>;

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_ACCUMULATOR_H_
