#ifndef CAIRN_NN_METRICS_CONFUSION_H_
#define CAIRN_NN_METRICS_CONFUSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/metrics/accumulator.h"

namespace cairn::nn {

// Metrics based on true and false positives and negatives (keras/src/metrics/confusion_metrics.py,
// Keras 3). A label is positive if it is not 0, an output if it exceeds the threshold. The state is
// the number of outputs of each kind in `kinds`.
enum class Confusion { kTruePositive, kFalsePositive, kTrueNegative, kFalseNegative };

struct ConfusionOptions {
  std::vector<Confusion> kinds;
  float threshold = 0.5f;
  // If positive, only the top_k largest outputs of the last axis can be positive.
  int64_t top_k = 0;
  // The only class of the last axis that counts; -1: all classes.
  int64_t class_id = -1;
};

std::unique_ptr<MetricAccumulator> CreateConfusion(const ConfusionOptions& options);

// A threshold that every output exceeds. Keras uses it when top_k selects the positives.
inline constexpr float kNoThreshold = -1e10f;

// Precision and recall: state[0] / (state[0] + state[1]), or 0 if both are zero.
double ShareResult(absl::Span<const double> state);
// The first number of the state.
double CountResult(absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_CONFUSION_H_
