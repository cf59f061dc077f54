#ifndef CAIRN_NN_METRICS_CONFUSION_H_
#define CAIRN_NN_METRICS_CONFUSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/metrics/counter.h"

namespace cairn::nn {

// Metrics of right and wrong positives (keras/src/metrics/confusion_metrics.py, Keras 3). A label
// is positive if it is not 0, an output if it is above the threshold. The state is the number of
// outputs of each kind in `kinds`.
enum class Confusion { kTruePositive, kFalsePositive, kTrueNegative, kFalseNegative };

struct ConfusionOptions {
  std::vector<Confusion> kinds;
  float threshold = 0.5f;
  // Only the so many largest of the last axis can be positive; 0: all.
  int64_t top_k = 0;
  // Only this one of the last axis counts; -1: all.
  int64_t class_id = -1;
};

std::unique_ptr<MetricCounter> CreateConfusion(const ConfusionOptions& options);

// The threshold that all outputs are above: Keras's where top_k says who is positive.
inline constexpr float kNoThreshold = -1e10f;

// The first part of two; 0 if there is nothing.
double ShareResult(absl::Span<const double> state);
double CountResult(absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_CONFUSION_H_
