#ifndef CAIRN_NN_METRICS_AUC_H_
#define CAIRN_NN_METRICS_AUC_H_

#include <memory>

#include "nn/metrics/counter.h"

namespace cairn::nn {

// The area under the ROC or the precision-recall curve, approximated at T thresholds evenly spread
// over [0, 1], as keras/src/metrics/confusion_metrics.py (Keras 3) does. The state has, for each
// threshold, how many outputs with label 1, and how many with label 0, are above it but not above
// the next one; labels in between count in both. Outputs outside [0, 1] count as its ends.
struct AucOptions {
  enum class Curve { kRoc, kPr };
  enum class Summation { kInterpolation, kMinoring, kMajoring };

  int thresholds = 200;  // At least 2.
  Curve curve = Curve::kRoc;
  Summation summation = Summation::kInterpolation;
  bool from_logits = false;
};

std::unique_ptr<MetricCounter> CreateAuc(const AucOptions& options);

// The area. Interpolated precision-recall is Davis and Goadrich 2006, as in Keras.
double AucResult(const AucOptions& options, absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_AUC_H_
