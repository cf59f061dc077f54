#ifndef CAIRN_NN_METRICS_IOU_H_
#define CAIRN_NN_METRICS_IOU_H_

#include <cstdint>
#include <memory>

#include "nn/metrics/accumulator.h"

namespace cairn::nn {

// Intersection over union of classes: correct / (labels + predictions - correct), as in
// keras/src/metrics/iou_metrics.py (Keras 3). The state holds, per class, the correct predictions,
// then the labels, then the predictions; no full confusion matrix is needed. Labels that are no
// class are left out.

// The prediction at a position is the class with the largest output along the last axis, the first
// one among equals.
std::unique_ptr<MetricAccumulator> CreateIou(bool sparse, int64_t classes);

// Two classes: outputs from `threshold` on are predictions of class 1.
std::unique_ptr<MetricAccumulator> CreateBinaryIou(float threshold);

// The mean over the classes `targets` (none given: all). Classes without labels and predictions are
// skipped, as are targets that are no class.
double IouResult(absl::Span<const int64_t> targets, absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_IOU_H_
