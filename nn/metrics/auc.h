#ifndef CAIRN_NN_METRICS_AUC_H_
#define CAIRN_NN_METRICS_AUC_H_

#include <cstdint>
#include <memory>

#include "nn/metrics/accumulator.h"

namespace cairn::nn {

// Area under the ROC or precision-recall curve, approximated at T thresholds evenly spaced in [0,
// 1], as in keras/src/metrics/confusion_metrics.py (Keras 3). The state counts, per threshold, the
// outputs above it but not above the next threshold: T counts for label 1, then T for label 0. A
// label between 0 and 1 counts for both in proportion. Outputs outside [0, 1] are clipped.
struct AucOptions {
  enum class Curve { kRoc, kPr };
  enum class Summation { kInterpolation, kMinoring, kMajoring };

  int thresholds = 200;  // At least 2.
  Curve curve = Curve::kRoc;
  Summation summation = Summation::kInterpolation;
  bool from_logits = false;
  // The only class of the last axis that counts; -1: all classes.
  int64_t class_id = -1;
};

std::unique_ptr<MetricAccumulator> CreateAuc(const AucOptions& options);

// Computes the area from a state. The interpolated precision-recall curve follows Davis & Goadrich
// 2006, as in Keras.
double AucResult(const AucOptions& options, absl::Span<const double> state);

// A rate of a classification at one threshold.
enum class Rate { kPrecision, kRecall, kSpecificity };  // Recall is also called sensitivity.

// The largest `wanted` rate at the thresholds where the rate `given` is at least `value`; 0 if
// there is none.
double BestRate(Rate wanted, Rate given, double value, const AucOptions& options,
                absl::Span<const double> state);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRICS_AUC_H_
