#ifndef CAIRN_NN_METRICS_MEAN_IOU_H_
#define CAIRN_NN_METRICS_MEAN_IOU_H_

#include <cstdint>
#include <memory>

#include "nn/metrics/counter.h"

namespace cairn::nn {

// The mean over classes of right / (labelled + predicted - right), as keras/src/metrics/
// iou_metrics.py (Keras 3) has it; classes that occur on neither side do not count. The class
// predicted at a position is the first of the largest outputs of the last axis. The state has the
// right ones of each class, then the labelled, then the predicted ones: all that the confusion
// matrix is needed for.
std::unique_ptr<MetricCounter> CreateMeanIou(bool sparse, int64_t classes);

double MeanIouResult(absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_MEAN_IOU_H_
