#ifndef CAIRN_NN_METRICS_MEAN_IOU_H_
#define CAIRN_NN_METRICS_MEAN_IOU_H_

#include <cstdint>
#include <memory>

#include "nn/metrics/accumulator.h"

namespace cairn::nn {

// Mean intersection over union: the mean over classes of correct / (labels + predictions -
// correct), as in keras/src/metrics/iou_metrics.py (Keras 3). Classes without labels and
// predictions are skipped. The prediction at a position is the class with the largest output along
// the last axis, the first one among equals. The state holds, per class, the correct predictions,
// then the labels, then the predictions; no full confusion matrix is needed.
std::unique_ptr<MetricAccumulator> CreateMeanIou(bool sparse, int64_t classes);

double MeanIouResult(absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_MEAN_IOU_H_
